// Calls the kernels of ../dense.cachet: plain and checked, on one thread and on several, and with mistakes.

#include "dense.h"
#include "pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *floats(size_t count) {
  float *x = aligned_alloc(64, (count * sizeof *x + 63) / 64 * 64);
  if (x == NULL) {
    perror("floats");
    exit(2);
  }
  return x;
}

// Rows of floats that follow each other.
static cachet_array rows(const float *data, int64_t m, int64_t n) {
  cachet_array array = {data, CACHET_F32, 2, {m, n}, {n, 1}};
  return array;
}

// What a checked entry said.
static void show(const char *what, int32_t code) {
  printf("%s: %s\n", what, dense_product_error(code));
}

int main(void) {
  const int64_t M = 150, K = 200, N = 301;
  float *a = floats(M * K), *b = floats(K * N), *c = floats(M * N), *d = floats(M * N);
  for (int64_t i = 0; i < M * K; i++) a[i] = (float)(i * 7 % 17) * 0.3f - 2.0f;
  for (int64_t i = 0; i < K * N; i++) b[i] = (float)(i * 5 % 13) * 0.7f - 4.0f;

  // The working space is ours, and may be used again by every call.
  size_t bytes = dense_product_scratch_bytes(M, K, N);
  void *scratch = aligned_alloc(64, bytes);
  if (scratch == NULL) return 2;

  dense_product(M, K, N, a, b, c, scratch);
  printf("c[3, 5] = %.6f\n", c[3 * N + 5]);

  // On threads, with the same bits.
  struct pool threads = {3};
  cachet_pool pool = {&threads, pool_run};
  dense_shared(M, K, N, a, b, d, scratch, &pool);
  printf("three threads give the same bits: %s\n", memcmp(c, d, M * N * sizeof *c) == 0 ? "yes" : "no");

  // The checked entry is told what each array is.
  cachet_array A = rows(a, M, K), B = rows(b, K, N), C = rows(c, M, N);
  show("as it should be", dense_product_checked(M, K, N, &A, &B, &C, scratch, bytes));

  cachet_array wrong = rows(b, N, K);
  show("another shape", dense_product_checked(M, K, N, &A, &wrong, &C, scratch, bytes));
  wrong = B;
  wrong.type = CACHET_F64;
  show("another type", dense_product_checked(M, K, N, &A, &wrong, &C, scratch, bytes));
  wrong = B;
  wrong.strides[0] = 1, wrong.strides[1] = K;
  show("columns that follow each other", dense_product_checked(M, K, N, &A, &wrong, &C, scratch, bytes));
  wrong = rows(a + 1, M, N);
  show("over an operand", dense_product_checked(M, K, N, &A, &B, &wrong, scratch, bytes));
  wrong = rows((const float *)((const char *)a + 2), M, K);
  show("half an element on", dense_product_checked(M, K, N, &wrong, &B, &C, scratch, bytes));
  show("no terms", dense_product_checked(M, 0, N, &A, &B, &C, scratch, bytes));
  show("a negative size", dense_product_checked(-1, K, N, &A, &B, &C, scratch, bytes));
  show("too little scratch", dense_product_checked(M, K, N, &A, &B, &C, scratch, bytes - 1));
  show("no array", dense_product_checked(M, K, N, &A, NULL, &C, scratch, bytes));

  free(a);
  free(b);
  free(c);
  free(d);
  free(scratch);
  return 0;
}
