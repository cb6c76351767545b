// Threads for a kernel: what a cachet_pool asks for, with POSIX threads, in as few lines as it takes. Programs that have
// threads already hand out the ranges to those.

#ifndef POOL_H
#define POOL_H

#include <stdint.h>

struct pool {
  int threads;
};

void pool_run(void *state, void (*body)(void *env, int64_t first, int64_t last), void *env, int64_t count);

#endif
