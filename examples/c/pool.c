#include "pool.h"

#include <pthread.h>

enum { MOST = 64 };

struct part {
  void (*body)(void *env, int64_t first, int64_t last);
  void *env;
  int64_t first, last;
};

static void *run_part(void *argument) {
  struct part *part = argument;
  part->body(part->env, part->first, part->last);
  return NULL;
}

void pool_run(void *state, void (*body)(void *env, int64_t first, int64_t last), void *env, int64_t count) {
  const struct pool *pool = state;
  int threads = pool->threads < 1 ? 1 : pool->threads > MOST ? MOST : pool->threads;
  struct part parts[MOST];
  pthread_t running[MOST];
  int started[MOST];
  for (int t = 0; t < threads; t++) {
    struct part part = {body, env, count * t / threads, count * (t + 1) / threads};
    parts[t] = part;
    started[t] = t + 1 < threads && pthread_create(&running[t], NULL, run_part, &parts[t]) == 0;
    // The last part, and what could not be started, runs here.
    if (!started[t]) run_part(&parts[t]);
  }
  for (int t = 0; t < threads; t++) {
    if (started[t]) pthread_join(running[t], NULL);
  }
}
