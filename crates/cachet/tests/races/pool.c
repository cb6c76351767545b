/* A pool of a caller's own, and a program's `main` on it: each grid on four threads of its own, from the last iteration to the
   first. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

typedef void body(void *env, int64_t first, int64_t last);

struct cachet_pool {
    void *state;
    void (*run)(void *state, body *body, void *env, int64_t count);
};

struct part {
    body *body;
    void *env;
    int64_t first, last;
    pthread_t thread;
};

static void *backwards(void *of) {
    struct part *part = of;
    for (int64_t i = part->last; i > part->first; i--)
        part->body(part->env, i - 1, i);
    return NULL;
}

static void run(void *state, body *body, void *env, int64_t count) {
    enum { THREADS = 4 };
    struct part parts[THREADS];
    ++*(int64_t *)state;
    for (int n = 0; n < THREADS; n++) {
        parts[n] = (struct part){body, env, count * n / THREADS, count * (n + 1) / THREADS, 0};
        if (pthread_create(&parts[n].thread, NULL, backwards, &parts[n]))
            exit(3);
    }
    for (int n = 0; n < THREADS; n++)
        pthread_join(parts[n].thread, NULL);
}

int32_t cachet_main(struct cachet_pool *pool);

int main(void) {
    int64_t grids = 0;
    struct cachet_pool pool = {&grids, run};
    int32_t status = cachet_main(&pool);
    /* A program without a grid would be no test. */
    return status ? status : grids > 0 ? 0 : 4;
}
