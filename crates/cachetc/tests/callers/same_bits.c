// Computes with the kernels of dense.cachet, built with --strided, on random, hostile and ragged inputs, and prints a number
// for each case that depends on every bit of the result; a NaN counts as a NaN. Every array begins or ends at a page that may not
// be touched, and products are compared with their definition, written out here.

#define _GNU_SOURCE
#include "dense.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t state = 88172645463325252u;

static uint64_t any(void) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}

// Memory of so many bytes that ends, or begins, where no memory is.
static void *guarded(size_t bytes, int at_end) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + page - 1) / page * page;
  unsigned char *all = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED || (room != 0 && mprotect(all + page, room, PROT_READ | PROT_WRITE) != 0)) {
    perror("guarded");
    exit(2);
  }
  return all + page + (at_end ? room - bytes : 0);
}

// Bits of a float that are hard on whoever reorders or rounds: by the case.
static uint32_t hostile32(int how, uint64_t i) {
  static const uint32_t odd[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x7f7fffff,
                                 0xff7fffff, 0x3f800000, 0xbf800000, 0x3f800001, 0x34000000, 0x4b000000, 0xcb000001};
  static const uint32_t worst[] = {0x7f800000, 0xff800000, 0x7fc00000, 0x7fa00000, 0x00000000, 0x80000000, 0x3f800000};
  uint64_t r = any();
  switch (how) {
  case 0: return (uint32_t)(r >> 40) % 0x01000000 | 0x3f000000u | (uint32_t)(r & 0x80000000u);
  case 1: return odd[r % (sizeof odd / sizeof *odd)];
  case 2: return r % 41 == 0 ? worst[(r >> 8) % (sizeof worst / sizeof *worst)] : odd[(r >> 8) % 14];
  // Pairs that nearly cancel.
  case 3: return (uint32_t)(0x4b000000u + (r & 0xff)) ^ (i % 2 ? 0x80000000u : 0);
  default: return (uint32_t)r;
  }
}

static float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, 4);
  return x;
}

static uint64_t hash;

static void mix(uint64_t word) {
  for (int i = 0; i < 8; i++) hash = (hash ^ (word >> (8 * i) & 255)) * 1099511628211u;
}

static uint64_t bits32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return isnan(x) ? 0x7fc00000u : bits;
}

static uint64_t bits64(double x) {
  uint64_t bits;
  memcpy(&bits, &x, 8);
  return isnan(x) ? 0x7ff8000000000000u : bits;
}

static cachet_array described(const void *data, int32_t type, int64_t m, int64_t n, int64_t apart) {
  cachet_array array = {data, type, 2, {m, n}, {apart, 1}};
  return array;
}

// An array of m rows, so far apart, of which the last is as long as its elements.
static size_t room(int64_t m, int64_t n, int64_t apart, size_t size) { return m == 0 || n == 0 ? 0 : ((size_t)((m - 1) * apart + n)) * size; }

static void need(int32_t code, const char *(*text)(int32_t code)) {
  if (code == 0) return;
  printf("refused: %s\n", text(code));
  exit(1);
}

static void wrong(const char *what, int64_t i, int64_t j) {
  printf("%s differs from its definition at %" PRId64 ", %" PRId64 "\n", what, i, j);
  exit(1);
}

static void products(int64_t m, int64_t k, int64_t n, int how, int64_t more, int at_end, void *scratch, size_t bytes) {
  int64_t sa = k + more, sb = n + 2 * more, sc = n + more;
  float *a = guarded(room(m, k, sa, 4), at_end), *b = guarded(room(k, n, sb, 4), at_end), *c = guarded(room(m, n, sc, 4), at_end);
  float *bias = guarded((size_t)n * 4, at_end);
  double *a64 = guarded(room(m, k, sa, 8), at_end), *b64 = guarded(room(k, n, sb, 8), at_end);
  double *c64 = guarded(room(m, n, sc, 8), at_end);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < k; j++) a64[i * sa + j] = a[i * sa + j] = float_of(hostile32(how, (uint64_t)j));
  for (int64_t i = 0; i < k; i++)
    for (int64_t j = 0; j < n; j++) b64[i * sb + j] = b[i * sb + j] = float_of(hostile32(how, 0));
  for (int64_t j = 0; j < n; j++) bias[j] = float_of(hostile32(how, (uint64_t)j));
  cachet_array A = described(a, CACHET_F32, m, k, sa), B = described(b, CACHET_F32, k, n, sb), C = described(c, CACHET_F32, m, n, sc);
  cachet_array A64 = described(a64, CACHET_F64, m, k, sa), B64 = described(b64, CACHET_F64, k, n, sb);
  cachet_array C64 = described(c64, CACHET_F64, m, n, sc), Bias = {bias, CACHET_F32, 1, {n}, {1}};
  hash = 14695981039346656037u;
  for (int which = 0; which < 4; which++) {
    if (which < 2 && k == 0) continue;
    if (which == 2 && m % 4 != 0) continue;
    switch (which) {
    case 0: need(dense_product_checked(m, k, n, &A, &B, &C, scratch, bytes), dense_product_error); break;
    case 1: need(dense_shared_checked(m, k, n, &A, &B, &C, scratch, bytes, NULL), dense_shared_error); break;
    case 2: need(dense_product64_checked(m, k, n, &A64, &B64, &C64), dense_product64_error); break;
    default: need(dense_layer_in_rows_checked(m, k, n, &A, &B, &Bias, &C), dense_layer_in_rows_error); break;
    }
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        mix(which == 2 ? bits64(c64[i * sc + j]) : bits32(c[i * sc + j]));
        if (which == 3) continue;
        float sum = -0.0f;
        double sum64 = -0.0;
        for (int64_t l = 0; l < k; l++) {
          if (which == 2) sum64 = fma(a64[i * sa + l], b64[l * sb + j], sum64);
          else sum = fmaf(a[i * sa + l], b[l * sb + j], sum);
        }
        if (which == 2 ? bits64(sum64) != bits64(c64[i * sc + j]) : bits32(sum) != bits32(c[i * sc + j])) {
          wrong(which == 2 ? "product64" : which ? "shared" : "product", i, j);
        }
      }
  }
  if (m > 0) {
    double *total = guarded((size_t)m * 8, at_end);
    for (int64_t i = 0; i < m; i++) total[i] = 0.25 * (double)i;
    cachet_array Total = {total, CACHET_F64, 1, {m}, {1}};
    need(dense_add_rows_checked(m, k, &A64, &Total), dense_add_rows_error);
    for (int64_t i = 0; i < m; i++) mix(bits64(total[i]));
  }
  printf("%" PRId64 " x %" PRId64 " x %" PRId64 ", inputs %d, rows %" PRId64 " apart: %016" PRIx64 "\n", m, k, n, how, more, hash);
}

int main(void) {
  static const int64_t sizes[][3] = {{1, 1, 1},  {4, 4, 4},    {0, 3, 5},    {5, 0, 7},     {3, 5, 0},     {7, 129, 33},
                                     {64, 3, 31}, {65, 17, 257}, {8, 256, 40}, {68, 131, 63}, {13, 1, 1},   {1, 300, 2}};
  size_t bytes = dense_product_scratch_bytes(1, 1, 1);
  // Working space has to begin at a multiple of 64; its size is one, so that it ends at the end of its page too.
  void *scratch = guarded(bytes, 1);
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int how = 0; how < 5; how++) {
      int64_t more = (how % 3) * (int64_t)s;
      products(sizes[s][0], sizes[s][1], sizes[s][2], how, more, (how + (int)s) % 2, scratch, bytes);
    }
  return 0;
}
