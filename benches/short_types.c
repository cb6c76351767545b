/* The kernels of examples/short_types.cachet beside oneDNN's, one thread each:
 *
 *   cachetc build -o built examples/short_types.cachet bf16_tiles byte_tiles
 *   cc -O2 -Ibuilt benches/short_types.c built/libshort_types.a -ldl -o short_types
 *   OMP_NUM_THREADS=1 taskset -c 0 ./short_types
 *
 * oneDNN 2.x is loaded, and called as its C interface says; its descriptions are larger or smaller from version to version,
 * so each gets more room than any has. */
#include "short_types.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CPU = 1, IN_ORDER = 1, ROWS = 3, BF16 = 2, F32 = 3, S32 = 4, S8 = 5, U8 = 6, SRC = 1, DST = 17, WEIGHTS = 33 };
enum { ROUNDS = 31 };
typedef struct { int argument; void *memory; } argument;

static void *dnnl;
static void *found(const char *name) {
    void *f = dlsym(dnnl, name);
    if (!f) { fprintf(stderr, "%s\n", dlerror()); exit(2); }
    return f;
}
static void must(int status, const char *what) {
    if (status) { fprintf(stderr, "%s: status %d\n", what, status); exit(2); }
}
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
static void *room(size_t bytes) {
    void *at = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!at) { perror("memory"); exit(2); }
    memset(at, 0, bytes);
    return at;
}

typedef struct { void *primitive, *stream; argument arguments[3]; } product;

static product prepare(void *engine, void *stream, int64_t n, const int types[3], void *arrays[3]) {
    int (*describe)(void *, int, const int64_t *, int, int) = found("dnnl_memory_desc_init_by_tag");
    int (*matmul)(void *, const void *, const void *, const void *, const void *) = found("dnnl_matmul_desc_init");
    int (*choose)(void **, const void *, const void *, void *, const void *) = found("dnnl_primitive_desc_create");
    int (*create)(void **, const void *) = found("dnnl_primitive_create");
    int (*memory)(void **, const void *, void *, void *) = found("dnnl_memory_create");
    const int64_t dims[12] = {n, n};
    const int names[3] = {SRC, WEIGHTS, DST};
    void *shapes[3], *wanted = room(1 << 16), *chosen;
    product p = {0, stream, {{0, 0}}};
    for (int i = 0; i < 3; i++) {
        shapes[i] = room(1 << 12);
        must(describe(shapes[i], 2, dims, types[i], ROWS), "dnnl_memory_desc_init_by_tag");
        p.arguments[i].argument = names[i];
        must(memory(&p.arguments[i].memory, shapes[i], engine, arrays[i]), "dnnl_memory_create");
    }
    must(matmul(wanted, shapes[0], shapes[1], 0, shapes[2]), "dnnl_matmul_desc_init");
    must(choose(&chosen, wanted, 0, engine, 0), "dnnl_primitive_desc_create");
    must(create(&p.primitive, chosen), "dnnl_primitive_create");
    return p;
}
static void run(const product *p) {
    static int (*execute)(const void *, void *, int, const argument *);
    static int (*wait)(void *);
    if (!execute) { execute = found("dnnl_primitive_execute"); wait = found("dnnl_stream_wait"); }
    must(execute(p->primitive, p->stream, 3, p->arguments) || wait(p->stream), "dnnl_primitive_execute");
}

/* Ours and theirs in each round; the median of the ratios, and the best of each. */
#define COMPARE(name, n, type, ours, theirs, mine, other)                                                       \
    do {                                                                                                        \
        double ratios[ROUNDS], best = 1e9, best_other = 1e9, work = 2e-9 * (double)n * (double)n * (double)n;               \
        int64_t differ = 0;                                                                                     \
        int calls = n < 1024 ? 8 : 1;                                                                           \
        for (int r = 0; r < ROUNDS; r++) {                                                                      \
            double t = now(), x, y;                                                                             \
            for (int i = 0; i < calls; i++) ours;                                                               \
            x = (now() - t) / calls, t = now();                                                                 \
            for (int i = 0; i < calls; i++) theirs;                                                             \
            y = (now() - t) / calls, ratios[r] = y / x;                                                             \
            best = x < best ? x : best;                                             \
            best_other = y < best_other ? y : best_other;                   \
        }                                                                                                       \
        for (int64_t i = 0; i < n * n; i++) differ += memcmp((type *)mine + i, (type *)other + i, sizeof(type)) != 0; \
        qsort(ratios, ROUNDS, sizeof *ratios, ascending);                                                       \
        printf("%s %ld: %.0f and %.0f Gop/s, ratio %.2f, %ld elements differ\n", name, (long)n, work / best,       \
               work / best_other, ratios[ROUNDS / 2], (long)differ);                                                     \
    } while (0)

int main(void) {
    static const int64_t sizes[] = {256, 512, 1024, 2048};
    void *engine, *stream;
    if (!(dnnl = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL))) { fprintf(stderr, "%s\n", dlerror()); return 2; }
    must(((int (*)(void **, int, size_t))found("dnnl_engine_create"))(&engine, CPU, 0), "dnnl_engine_create");
    must(((int (*)(void **, void *, unsigned))found("dnnl_stream_create"))(&stream, engine, IN_ORDER), "dnnl_stream_create");
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t n = sizes[s], cells = n * n;
        uint16_t *a = room(cells * 2), *b = room(cells * 2);
        uint8_t *u = room(cells);
        int8_t *v = room(cells);
        float *c = room(cells * 4), *d = room(cells * 4);
        int32_t *w = room(cells * 4), *x = room(cells * 4);
        void *scratch = room(short_types_bf16_tiles_scratch_bytes(n, n / 2, n));
        void *panel = room(short_types_byte_tiles_scratch_bytes(n, n / 4, n));
        for (int64_t i = 0; i < cells; i++) {
            a[i] = (uint16_t)(0x3f00 + (rand() & 0x80ff)), b[i] = (uint16_t)(0x3f00 + (rand() & 0x80ff));
            u[i] = (uint8_t)rand(), v[i] = (int8_t)rand();
        }
        product floats = prepare(engine, stream, n, (int[]){BF16, BF16, F32}, (void *[]){a, b, d});
        product bytes = prepare(engine, stream, n, (int[]){U8, S8, S32}, (void *[]){u, v, x});
        COMPARE("bf16", n, float, short_types_bf16_tiles(n, n / 2, n, a, b, c, scratch), run(&floats), c, d);
        COMPARE("bytes", n, int32_t, short_types_byte_tiles(n, n / 4, n, u, v, w, panel), run(&bytes), w, x);
    }
    return 0;
}
