/*
 * From text to the end of a walk: a Spec of 100,000 resources and 200,000 edges, half of them
 * dependsOn and half references. Each step is timed in its best run of several; the peer is yajl
 * reading the same bytes in the same run and building nothing of them: the floor of any reader on
 * yajl.
 */
#include <stdio.h>
#include <time.h>
#include <yajl/yajl_parse.h>

#include "engine/base/mem.h"
#include "engine/graph/graph.h"
#include "engine/graph/relations.h"
#include "engine/spec/spec.h"
#include "engine/value/json.h"
#include "engine/walk/walk.h"
#include "runtimes/kubernetes/objects/check.h"
#include "runtimes/kubernetes/objects/relate.h"
#include "runtimes/kubernetes/runtime.h"

#define NODES      100000
#define RUNS       7
#define TARGET_MS  150.0
#define NAMESPACES 10 /* the first resources */

enum step { PEER, READ, PARSE, RELATE, BUILD, WALK, N_STEPS };

static const char *const step_names[N_STEPS] = {
    [PEER] = "yajl alone (the peer)", [READ] = "json_read",  [PARSE] = "spec_parse",
    [RELATE] = "kube_relate",         [BUILD] = "graph_new", [WALK] = "walk",
};

struct run {
    double ms[N_STEPS];
    uint32_t n_edges;
};

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* The same in every run. */
static uint32_t below(uint32_t bound)
{
    static uint64_t state = 88172645463325252u;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % bound;
}

static void add_id(struct buf *text, uint32_t node)
{
    if (node < NAMESPACES)
        buf_printf(text, "v1:Namespace:ns-%u", node);
    else if (node % 3 == 0)
        buf_printf(text, "v1:Service:ns-%u:web-%u", node % NAMESPACES, node);
    else if (node % 3 == 1)
        buf_printf(text, "apps/v1:Deployment:ns-%u:web-%u", node % NAMESPACES, node);
    else
        buf_printf(text, "v1:ConfigMap:ns-%u:web-%u", node % NAMESPACES, node);
}

static void add_attributes(struct buf *text, uint32_t node)
{
    static const char *const kinds[] = {"Service", "Deployment", "ConfigMap"};

    if (node < NAMESPACES) {
        buf_printf(text,
                   "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\","
                   "\"metadata\":{\"name\":\"ns-%u\"}}",
                   node);
        return;
    }
    buf_printf(text,
               "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"web-%u\","
               "\"namespace\":\"ns-%u\"},\"data\":{\"from\":\"$kusion_path.",
               node % 3 == 1 ? "apps/v1" : "v1", kinds[node % 3], node, node % NAMESPACES);
    add_id(text, node - 1 - below(node < 1000 ? node : 1000));
    buf_add_str(text, ".metadata.name\"}}");
}

/* Two edges of each node, to some earlier ones; that to its Namespace comes with it. */
static void write_spec(struct buf *text)
{
    buf_add_str(text, "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Spec\",\"metadata\":{"
                      "\"name\":\"large\",\"namespace\":\"team\"},\"spec\":{\"resources\":[");
    for (uint32_t i = 0; i < NODES; i++) {
        buf_add_str(text, i ? ",{\"id\":\"" : "{\"id\":\"");
        add_id(text, i);
        buf_add_str(text, "\",\"type\":\"Kubernetes\",\"attributes\":");
        add_attributes(text, i);
        if (i >= NAMESPACES) {
            buf_add_str(text, ",\"dependsOn\":[\"");
            add_id(text, i % NAMESPACES);
            buf_add_str(text, "\"]");
        }
        buf_add_char(text, '}');
    }
    buf_add_str(text, "]}}");
}

static int nothing(void *arg)
{
    (void)arg;
    return 1;
}

static int nothing_of_boolean(void *arg, int value)
{
    (void)arg, (void)value;
    return 1;
}

static int nothing_of_text(void *arg, const unsigned char *text, size_t length)
{
    (void)arg, (void)text, (void)length;
    return 1;
}

static int nothing_of_number(void *arg, const char *text, size_t length)
{
    (void)arg, (void)text, (void)length;
    return 1;
}

static void read_by_yajl(const struct buf *text)
{
    static const yajl_callbacks callbacks = {
        .yajl_null = nothing,
        .yajl_boolean = nothing_of_boolean,
        .yajl_number = nothing_of_number,
        .yajl_string = nothing_of_text,
        .yajl_start_map = nothing,
        .yajl_map_key = nothing_of_text,
        .yajl_end_map = nothing,
        .yajl_start_array = nothing,
        .yajl_end_array = nothing,
    };
    yajl_handle yajl = yajl_alloc(&callbacks, NULL, NULL);

    if (yajl_parse(yajl, (const unsigned char *)text->data, text->length) != yajl_status_ok ||
        yajl_complete_parse(yajl) != yajl_status_ok)
        abort();
    yajl_free(yajl);
}

static void must(int r, const struct error *error)
{
    if (r == 0)
        return;
    fprintf(stderr, "%s: %s\n", error->reason, error->message);
    exit(1);
}

static void relate(const struct spec *spec, struct relations *ret)
{
    static const struct runtime_scope scope = {.key = {"team", "s"}};
    _cleanup_free_ struct runtime_target *targets =
        NEW_ARRAY(struct runtime_target, spec->n_resources + 1);

    for (size_t i = 0; i < spec->n_resources; i++)
        targets[i] = (struct runtime_target){.id = spec->resources[i].id,
                                             .attributes = spec->resources[i].attributes};
    relations_init(ret, spec->n_resources);
    kube_relate(NULL, &scope, targets, spec->n_resources, ret, NULL);
}

static const char *name_of(void *arg, uint32_t node)
{
    const struct spec *spec = arg;

    return spec->resources[node].id;
}

/* As an operation does, of a Spec that State knows nothing of yet. */
static void build(const struct spec *spec, const struct relations *relations, struct graph **ret)
{
    size_t n_edges = relations->n_items, n = 0;
    _cleanup_free_ struct graph_edge *edges = NULL;
    struct error error = {0};

    for (size_t i = 0; i < spec->n_resources; i++)
        n_edges += spec->dependencies[i].count;
    edges = NEW_ARRAY(struct graph_edge, n_edges + 1);
    for (uint32_t i = 0; i < spec->n_resources; i++)
        for (size_t d = 0; d < spec->dependencies[i].count; d++)
            edges[n++] = (struct graph_edge){i, spec->dependencies[i].indices[d]};
    for (size_t i = 0; i < relations->n_items; i++)
        edges[n++] = (struct graph_edge){relations->items[i].node, relations->items[i].other};
    must(graph_new((uint32_t)spec->n_resources, edges, n, relations->ranks, name_of,
                   (void *)(uintptr_t)spec, ret, &error),
         &error);
}

static void walk_all(const struct graph *graph)
{
    _cleanup_(walk_free_p) struct walk *walk = walk_new(&(struct walk_config){.graph = graph});
    struct walk_visit visit;
    int64_t due;

    while (walk_next(walk, 0, &visit, &due) == WALK_VISIT)
        walk_end_visit(walk, &visit, WALK_DONE, 0);
}

static void run_once(const struct buf *text, struct run *ret)
{
    static const struct spec_type types[] = {{KUBE_RUNTIME_TYPE, &kube_checks, NULL}};
    const struct spec_options options = {.types = types, .n_types = ARRAY_SIZE(types)};
    _cleanup_value_ const struct value *object = NULL;
    _cleanup_(spec_free_p) struct spec *spec = NULL;
    _cleanup_(graph_free_p) struct graph *graph = NULL;
    _cleanup_(relations_done) struct relations relations = RELATIONS_INIT;
    struct problems problems = PROBLEMS_INIT;
    struct error error = {0};
    double at[N_STEPS + 1];

    at[PEER] = now_ms();
    read_by_yajl(text);
    at[READ] = now_ms();
    must(json_read(text->data, text->length, &object, &error), &error);
    at[PARSE] = now_ms();
    must(spec_parse(object, &options, &spec, &problems, &error), &error);
    at[RELATE] = now_ms();
    relate(spec, &relations);
    at[BUILD] = now_ms();
    build(spec, &relations, &graph);
    at[WALK] = now_ms();
    walk_all(graph);
    at[N_STEPS] = now_ms();
    for (int i = 0; i < N_STEPS; i++)
        ret->ms[i] = at[i + 1] - at[i];
    ret->n_edges = graph->n_edges;
    problems_done(&problems);
}

static void report(const struct run *best, size_t bytes)
{
    const double *ms = best->ms;
    double walked = ms[PARSE] + ms[RELATE] + ms[BUILD] + ms[WALK], whole = walked + ms[READ];

    printf("%u nodes, %u edges, %.1f MB of JSON; best of %d runs\n\n", NODES, best->n_edges,
           (double)bytes / 1e6, RUNS);
    printf("%-28s %9s %12s\n", "step", "ms", "of the peer");
    for (int i = 0; i < N_STEPS; i++)
        printf("%-28s %9.1f %12.2f\n", step_names[i], ms[i], ms[i] / ms[PEER]);
    printf("%-28s %9.1f %12.2f   (target: %.0f ms)\n", "spec_parse to walk", walked,
           walked / ms[PEER], TARGET_MS);
    printf("%-28s %9.1f %12.2f\n\n", "text to walk", whole, whole / ms[PEER]);
    printf("{\"benchmark\":\"graph\",\"nodes\":%u,\"edges\":%u,\"bytes\":%zu,\"peer_ms\":%.1f,"
           "\"read_ms\":%.1f,\"parse_ms\":%.1f,\"relate_ms\":%.1f,\"build_ms\":%.1f,"
           "\"walk_ms\":%.1f,"
           "\"parse_to_walk_ms\":%.1f,\"text_to_walk_ms\":%.1f,\"read_ratio\":%.2f,"
           "\"ratio\":%.2f,\"target_ms\":%.0f}\n",
           NODES, best->n_edges, bytes, ms[PEER], ms[READ], ms[PARSE], ms[RELATE], ms[BUILD],
           ms[WALK], walked, whole, ms[READ] / ms[PEER], whole / ms[PEER], TARGET_MS);
}

int main(void)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    struct run best = {0}, run;

    write_spec(&text);
    for (int i = 0; i < RUNS; i++) {
        run_once(&text, &run);
        for (int step = 0; step < N_STEPS; step++)
            if (i == 0 || run.ms[step] < best.ms[step])
                best.ms[step] = run.ms[step];
        best.n_edges = run.n_edges;
    }
    report(&best, text.length);
    return 0;
}
