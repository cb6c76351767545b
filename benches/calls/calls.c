// How long is a call that has next to nothing to compute? The 4 x 4 x 4 product of small.cachet, plain and checked, that of
// dense.cachet, made for any size, and OpenBLAS's cblas_sgemm, whose file is the argument.

#define _GNU_SOURCE
#include "dense.h"
#include "small.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 31, CALLS = 20000 };

static _Alignas(64) float a[16], b[16], c[16], wanted[16];
static cachet_array A = {a, CACHET_F32, 2, {4, 4}, {4, 1}}, B = {b, CACHET_F32, 2, {4, 4}, {4, 1}}, C = {c, CACHET_F32, 2, {4, 4}, {4, 1}};
static void *scratch;
static size_t bytes;

typedef void sgemm32(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
typedef void sgemm64(int, int, int, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *, int64_t, float, float *, int64_t);
static sgemm32 *openblas32;
static sgemm64 *openblas64;

static void plain(void) { small_product(a, b, c); }
static void checked(void) {
  if (small_product_checked(&A, &B, &C) != 0) abort();
}
static void any_size(void) { dense_product(4, 4, 4, a, b, c, scratch); }
static void any_size_checked(void) {
  if (dense_product_checked(4, 4, 4, &A, &B, &C, scratch, bytes) != 0) abort();
}
static void openblas(void) {
  if (openblas32) openblas32(101, 111, 111, 4, 4, 4, 1, a, 4, b, 4, 0, c, 4);
  else openblas64(101, 111, 111, 4, 4, 4, 1, a, 4, b, 4, 0, c, 4);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_size(const void *x, const void *y) { return (*(const double *)x > *(const double *)y) - (*(const double *)x < *(const double *)y); }

// The median of the rounds, in nanoseconds a call.
static void measure(const char *what, void (*call)(void)) {
  double rounds[ROUNDS];
  memset(c, 0xff, sizeof c);
  call();
  for (int i = 0; i < 16; i++) {
    if (c[i] < wanted[i] - 1e-4f || !(c[i] <= wanted[i] + 1e-4f)) {
      fprintf(stderr, "%s: a wrong product\n", what);
      exit(1);
    }
  }
  for (int r = -3; r < ROUNDS; r++) {
    double start = now();
    for (int n = 0; n < CALLS; n++) call();
    if (r >= 0) rounds[r] = (now() - start) / CALLS;
  }
  qsort(rounds, ROUNDS, sizeof *rounds, by_size);
  printf("%-44s %7.1f ns  (10 %% %.1f, 90 %% %.1f)\n", what, rounds[ROUNDS / 2], rounds[ROUNDS / 10], rounds[ROUNDS * 9 / 10]);
}

int main(int argc, char **argv) {
  for (int i = 0; i < 16; i++) a[i] = (float)(i * 7 % 5) - 1.5f, b[i] = (float)(i * 3 % 7) * 0.5f;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      for (int k = 0; k < 4; k++) wanted[4 * i + j] += a[4 * i + k] * b[4 * k + j];
  bytes = dense_product_scratch_bytes(4, 4, 4);
  scratch = aligned_alloc(64, bytes);
  if (scratch == NULL) return 2;
  measure("C: small.cachet, plain", plain);
  measure("C: small.cachet, checked", checked);
  measure("C: dense.cachet (any size), plain", any_size);
  measure("C: dense.cachet (any size), checked", any_size_checked);
  void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (library == NULL) {
    printf("OpenBLAS was not found: apt-get install libopenblas0-pthread\n");
    return 0;
  }
  *(void **)&openblas32 = dlsym(library, "cblas_sgemm");
  if (!openblas32) *(void **)&openblas32 = dlsym(library, "scipy_cblas_sgemm");
  if (!openblas32) *(void **)&openblas64 = dlsym(library, "scipy_cblas_sgemm64_");
  if (!openblas32 && !openblas64) return fprintf(stderr, "%s has no cblas_sgemm\n", argv[1]), 1;
  measure("C: OpenBLAS, cblas_sgemm", openblas);
  return 0;
}
