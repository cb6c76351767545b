// Calls checked entries of dense.cachet with mistakes made at random: each call has at least one, so each must return a code
// that has a text, of the kind of the mistake where there is one, and write nothing. Arguments: how many calls of each entry, and a seed.

#include "dense.h"

#include <fenv.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

static uint64_t any(void) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}

static int64_t below(int64_t n) { return (int64_t)(any() % (uint64_t)n); }

// All memory that a call is told of: two operands, a result, working space.
enum { LARGEST = 24, PIECE = LARGEST * LARGEST * 8, SCRATCH = 128 * 256 * 4 };
static _Alignas(64) unsigned char memory[3 * PIECE + SCRATCH + 64], before[sizeof memory];

struct call {
  int64_t m, k, n;
  cachet_array array[3];
  cachet_array *given[3];
  void *scratch;
  size_t bytes;
  cachet_pool pool;
  const cachet_pool *given_pool;
  int rounding;
};

// An entry: what it has, and how it is called.
struct entry {
  // The number of rows is a multiple of `rows`, which is at least 2.
  const char *name;
  int arrays, axes[3], has_scratch, has_pool, wants_terms, rows;
  int32_t type[3];
  int32_t (*run)(struct call *c);
  const char *(*text)(int32_t code);
};

static int32_t run_product(struct call *c) {
  return dense_product_checked(c->m, c->k, c->n, c->given[0], c->given[1], c->given[2], c->scratch, c->bytes);
}

static int32_t run_shared(struct call *c) {
  return dense_shared_checked(c->m, c->k, c->n, c->given[0], c->given[1], c->given[2], c->scratch, c->bytes, c->given_pool);
}

static int32_t run_product64(struct call *c) {
  return dense_product64_checked(c->m, c->k, c->n, c->given[0], c->given[1], c->given[2]);
}

static int32_t run_add_rows(struct call *c) { return dense_add_rows_checked(c->m, c->k, c->given[0], c->given[1]); }

static const struct entry entries[] = {
    {"product", 3, {2, 2, 2}, 1, 0, 1, 2, {CACHET_F32, CACHET_F32, CACHET_F32}, run_product, dense_product_error},
    {"shared", 3, {2, 2, 2}, 1, 1, 1, 2, {CACHET_F32, CACHET_F32, CACHET_F32}, run_shared, dense_shared_error},
    {"product64", 3, {2, 2, 2}, 0, 0, 0, 4, {CACHET_F64, CACHET_F64, CACHET_F64}, run_product64, dense_product64_error},
    {"add_rows", 2, {2, 1, 0}, 0, 0, 0, 2, {CACHET_F64, CACHET_F64, 0}, run_add_rows, dense_add_rows_error},
};

static void one_after_another(void *state, void (*body)(void *, int64_t, int64_t), void *env, int64_t count) {
  (void)state;
  body(env, 0, count);
}

// A call as it should be, with every extent at least 2, so that every stride matters.
static void good(const struct entry *e, struct call *c) {
  memset(c, 0, sizeof *c);
  c->m = e->rows * (1 + below(LARGEST / e->rows)), c->k = 2 + below(LARGEST - 1), c->n = 2 + below(LARGEST - 1);
  int64_t shapes[3][2] = {{c->m, c->k}, {c->k, c->n}, {c->m, c->n}};
  if (e->arrays == 2) shapes[1][0] = c->m;
  for (int a = 0; a < e->arrays; a++) {
    cachet_array *x = &c->array[a];
    x->data = memory + a * PIECE, x->type = e->type[a], x->rank = e->axes[a];
    for (int axis = 0; axis < x->rank; axis++) x->shape[axis] = shapes[a][axis];
    x->strides[x->rank - 1] = 1;
    if (x->rank == 2) x->strides[0] = x->shape[1];
    c->given[a] = x;
  }
  c->scratch = memory + 3 * PIECE, c->bytes = SCRATCH;
  c->pool.run = one_after_another, c->given_pool = &c->pool;
  c->rounding = FE_TONEAREST;
}

// Something that is no longer what it was.
static int64_t other(int64_t was) {
  int64_t now = below(2) ? was + 1 + below(40) : (int64_t)any();
  return now == was ? was + 1 : now;
}

enum { MISTAKES = 17 };

// Makes one mistake; the kind of error that there must be at least, or 0 where this entry cannot have it.
static int spoil(const struct entry *e, struct call *c, int which) {
  int a = (int)below(e->arrays), axis;
  cachet_array *x = &c->array[a];
  int64_t *sizes[3] = {&c->m, &c->k, &c->n};
  switch (which) {
  case 0: *sizes[below(e->arrays)] = -1 - below(INT64_MAX); return CACHET_ERROR_SIZE;
  case 1: *sizes[below(e->arrays)] = ((int64_t)1 << 40) + 1 + below((int64_t)1 << 50); return CACHET_ERROR_SIZE;
  case 2:
    if (!e->wants_terms) return 0;
    c->k = c->array[0].shape[1] = c->array[1].shape[0] = 0;
    return CACHET_ERROR_REQUIREMENT;
  case 3: c->given[a] = NULL; return CACHET_ERROR_MISSING;
  case 4: x->type = (int32_t)other(x->type); return x->type == e->type[a] ? 0 : CACHET_ERROR_TYPE;
  case 5: x->rank = (int32_t)other(x->rank); return x->rank == e->axes[a] ? 0 : CACHET_ERROR_RANK;
  case 6: axis = (int)below(e->axes[a]), x->shape[axis] = other(x->shape[axis]); return CACHET_ERROR_SHAPE;
  case 7: axis = e->axes[a] - 1, x->strides[axis] = other(1); return CACHET_ERROR_STRIDES;
  case 8:
    if (e->axes[a] < 2) return 0;
    // Rows that lie too close, for what is written; a stride below zero for what is not.
    x->strides[0] = a == e->arrays - 1 ? below(x->shape[1]) : -1 - below(INT64_MAX);
    return CACHET_ERROR_STRIDES;
  case 9: x->data = NULL; return CACHET_ERROR_ADDRESS;
  case 10: x->data = (const void *)(UINTPTR_MAX - (uintptr_t)below(16)); return CACHET_ERROR_ADDRESS;
  case 11: x->data = (const unsigned char *)x->data + 1 + below(3); return CACHET_ERROR_ALIGNMENT;
  case 12:
    // The result somewhere over an operand.
    a = (int)below(e->arrays - 1);
    c->array[e->arrays - 1].data = (const unsigned char *)c->array[a].data + 8 * below(2);
    return CACHET_ERROR_OVERLAP;
  case 13:
    if (!e->has_scratch) return 0;
    c->bytes = (size_t)below(SCRATCH);
    return CACHET_ERROR_SCRATCH;
  case 14:
    if (!e->has_scratch) return 0;
    if (below(3) == 0) return c->scratch = NULL, CACHET_ERROR_ADDRESS;
    if (below(2)) return c->scratch = memory + 64 * below(20), CACHET_ERROR_OVERLAP;
    c->scratch = (unsigned char *)c->scratch + 1 + below(63);
    return CACHET_ERROR_ALIGNMENT;
  case 15:
    if (!e->has_pool) return 0;
    c->pool.run = NULL;
    return CACHET_ERROR_POOL;
  default: {
    static const int roundings[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    c->rounding = roundings[below(3)];
    return CACHET_ERROR_FLOAT_MODE;
  }
  }
}

static int fail(const struct entry *e, long at, const char *what, int32_t code) {
  fprintf(stderr, "%s, call %ld: %s (code %" PRId32 ": %s)\n", e->name, at, what, code, e->text(code));
  return 1;
}

static int attack(const struct entry *e, long calls) {
  long seen[CACHET_ERROR_FLOAT_MODE + 1] = {0};
  for (long at = 0; at < calls; at++) {
    struct call c;
    good(e, &c);
    int wanted = 0, more = 1 + (int)below(3);
    unsigned done = 0;
    // No mistake twice, which might mend it.
    for (int n = 0; n < more;) {
      int which = (int)below(MISTAKES);
      if (done >> which & 1) continue;
      done |= 1u << which;
      int kind = spoil(e, &c, which);
      if (kind) wanted = kind, n++;
    }
    // A mistake may hide behind another, or become a different one; alone it is what it is.
    int alone = more == 1;
    fesetround(c.rounding);
    int32_t code = e->run(&c);
    fesetround(FE_TONEAREST);
    if (code == 0) return fail(e, at, "a bad call was taken", code);
    if (strstr(e->text(code), "no error") != NULL) return fail(e, at, "a code without a text", code);
    if (alone && CACHET_ERROR_KIND(code) != wanted) return fail(e, at, "an error of another kind", code);
    seen[CACHET_ERROR_KIND(code)]++;
    if (at % 64 == 0 && memcmp(memory, before, sizeof memory) != 0) return fail(e, at, "something was written", code);
  }
  if (memcmp(memory, before, sizeof memory) != 0) return fail(e, calls, "something was written", 0);
  struct call c;
  good(e, &c);
  int32_t code = e->run(&c);
  if (code != 0) return fail(e, calls, "a good call was refused", code);
  memcpy(memory, before, sizeof memory);
  int kinds = 0;
  for (int kind = 1; kind <= CACHET_ERROR_FLOAT_MODE; kind++) kinds += seen[kind] != 0;
  printf("%s: %ld bad calls, %ld codes, %d kinds\n", e->name, calls, calls, kinds);
  return 0;
}

int main(int argc, char **argv) {
  long calls = argc > 1 ? atol(argv[1]) : 100000;
  state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  for (size_t i = 0; i < sizeof memory; i++) memory[i] = before[i] = (unsigned char)(any() & 63);
  int failed = 0;
  for (size_t e = 0; e < sizeof entries / sizeof *entries; e++) failed |= attack(&entries[e], calls);
  return failed;
}
