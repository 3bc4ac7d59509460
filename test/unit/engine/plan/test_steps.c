/*
 * The graph of a plan's steps. Changes are letters: a to apply, a- leaves, a* replaced (deleted
 * first), a+ replaced (created first), a! replaced (there cannot be two); a ? says that it may turn
 * out to stay; a digit after that is its place among what goes last. Edges are "xd": x depends on
 * d. An order is "+d<+x -x<-d": + the apply, - the delete, and # the barrier; what is "+a|+b" may
 * go in either order.
 */
#include "engine/plan/steps.h"

#include <ctype.h>
#include <stdlib.h>
#include <time.h>

#include "engine/base/mem.h"
#include "test/unit/suite.h"

#define MOST 8

struct row {
    const char *note, *changes, *planned, *recorded;
    const char *order;
};

struct scene {
    struct step_change changes[MOST];
    char names[MOST][2];
    uint32_t n;
    struct graph_edge planned[MOST * MOST], recorded[MOST * MOST];
    struct steps_input input;
    struct steps *steps;
};

static uint32_t index_of(const struct scene *scene, char name)
{
    for (uint32_t i = 0; i < scene->n; i++)
        if (scene->names[i][0] == name)
            return i;
    abort();
}

static const char *name_of(void *arg, uint32_t change)
{
    struct scene *scene = arg;

    return scene->names[change];
}

static size_t read_edges(const struct scene *scene, const char *text, struct graph_edge *ret)
{
    size_t n = 0;

    for (; *text; text += text[2] ? 3 : 2)
        ret[n++] = (struct graph_edge){index_of(scene, text[0]), index_of(scene, text[1])};
    return n;
}

static int build(struct scene *scene, const struct row *row, struct error *error)
{
    *scene = (struct scene){0};
    for (const char *at = row->changes; *at;) {
        struct step_change *change = &scene->changes[scene->n];

        scene->names[scene->n++][0] = *at++;
        *change = (struct step_change){.applies = *at != '-',
                                       .deletes = *at && strchr("-*+!", *at),
                                       .create_first = *at == '+',
                                       .cannot_create_first = *at == '!'};
        at += change->deletes;
        change->has_unknown = *at == '?';
        at += change->has_unknown;
        if (isdigit((unsigned char)*at))
            change->last = (uint16_t)(*at++ - '0');
        at += *at == ' ';
    }
    scene->input = (struct steps_input){
        .changes = scene->changes,
        .n_changes = scene->n,
        .planned = scene->planned,
        .n_planned = read_edges(scene, row->planned, scene->planned),
        .recorded = scene->recorded,
        .n_recorded = read_edges(scene, row->recorded, scene->recorded),
        .name = name_of,
        .arg = scene,
    };
    return steps_new(&scene->input, &scene->steps, error);
}

/* "+a" at *at; moves it. */
static uint32_t node_at(const struct scene *scene, const char **at)
{
    const struct steps *steps = scene->steps;
    char kind = *(*at)++;
    uint32_t change;

    if (kind == '#')
        return steps->barrier;
    change = index_of(scene, *(*at)++);
    return kind == '+' ? steps->apply[change] : steps->delete[change];
}

static bool is_after(const struct graph *graph, uint32_t node, uint32_t other)
{
    for (uint32_t e = graph->dependency_start[node]; e < graph->dependency_start[node + 1]; e++)
        if (graph->dependencies[e] == other || is_after(graph, graph->dependencies[e], other))
            return true;
    return false;
}

static void expect_order(const struct scene *scene, const struct row *row)
{
    const struct graph *graph = scene->steps->graph;
    char note[256];

    for (const char *at = row->order; *at; at += *at == ' ') {
        const char *pair = at;
        uint32_t first = node_at(scene, &at);
        char relation = *at++;
        uint32_t second = node_at(scene, &at);

        snprintf(note, sizeof(note), "%s: %.*s", row->note, (int)(at - pair), pair);
        EXPECT(first != STEP_NONE && second != STEP_NONE, note);
        if (first == STEP_NONE || second == STEP_NONE)
            continue;
        EXPECT(is_after(graph, second, first) == (relation == '<'), note);
        EXPECT(!is_after(graph, first, second), note);
    }
}

static void expect_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct scene scene;
        struct error error = {0};

        EXPECT_INT(build(&scene, &rows[i], &error), 0, rows[i].note);
        if (error.code)
            EXPECT_STR(error.message, "", rows[i].note);
        else
            expect_order(&scene, &rows[i]);
        steps_free(scene.steps);
    }
}

static void applies_after_dependencies_and_deletes_before_them(void)
{
    static const struct row rows[] = {
        {"applies", "a b c", "ba cb", "", "+a<+b +b<+c +a<+c"},
        {"what has nothing to do with each other", "a b", "", "", "+a|+b"},
        {"what leaves goes when everything is applied", "a b-", "", "", "+a<# #<-b +a<-b"},
        {"dependents first", "a- b- c-", "", "ba cb", "-c<-b -b<-a"},
        {"dependents first, behind the barrier", "x a- b-", "", "ba", "+x<-b -b<-a"},
        {"what leaves stays until nothing uses it any more", "a- b", "", "", "+b<-a"},
        {"a record's edge to what stays does not count", "a b-", "", "ba", "+a<-b"},
    };

    expect_rows(rows, ARRAY_SIZE(rows));
}

static void replaces_in_either_order(void)
{
    static const struct row rows[] = {
        {"deleted first", "a*", "", "", "-a<+a"},
        {"created first", "a+", "", "", "+a<-a"},
        {"deleted first, with a dependent that stays", "a* b", "ba", "", "-a<+a +a<+b"},
        {"created first: the old one stays until its dependents are moved", "a+ b", "ba", "",
         "+a<+b +b<-a"},
        {"a chain, deleted first", "a* b* c*", "ba cb", "ba cb",
         "-c<-b -b<-a -a<+a +a<+b +b<+c -c<+c"},
        {"a chain, created first", "a+ b+ c+", "ba cb", "ba cb", "+a<+b +b<+c +c<-c -c<-b -b<-a"},
        {"the last of a chain created first: all are", "a* b* c+", "ba cb", "ba cb",
         "+a<+b +b<+c +c<-c -c<-b -b<-a"},
        {"the middle of a chain", "a* b+ c*", "ba cb", "ba cb",
         "+a<+b +b<-b -b<-a -c<+c -c<-b +b<+c"},
        {"the first alone", "a+ b* c*", "ba cb", "ba cb", "+a<+b -b<+b +b<-a -c<-b -b<-a"},
        {"a dependency that is not replaced is only applied first", "a b+", "ba", "ba",
         "+a<+b +b<-b"},
        {"with a dependency that leaves", "a- b*", "", "ba", "-b<+b +b<# #<-a -b<-a"},
        {"what it depended on, and does not any more, is created first, too", "a* b+ c", "bc ca",
         "ba", "+a<+c +c<+b +b<-b -b<-a"},
        {"unless there cannot be two of that", "a! b+", "ba", "", "-a<+a +a<+b +b<-b"},
        {"what may turn out to stay is deleted when what it depends on is applied", "a b*?", "ba",
         "ba", "+a<-b -b<+b"},
        {"but not where that has to go as well", "a* b*? c*?", "ba cb", "ba cb",
         "-c<-b -b<-a -a<+a +a<+b +b<+c"},
        {"what depended on it is what it depends on now, created first: so is what would close the "
         "circle",
         "c- e+ f* g*", "gf ef", "cg fc", "+f<+g +f<+e +g<-f +e<-f -f<-c -c<-g +g<-g"},
        {"siblings, one of either kind", "a* b+ c*", "ba ca", "ba ca",
         "+a<+b +a<+c +b<-b -c<+c -b<-a -c<-a +c<-a"},
    };

    expect_rows(rows, ARRAY_SIZE(rows));
}

static void a_replacement_takes_what_is_in_its_way(void)
{
    static const struct row rows[] = {
        {"a pruned dependent goes before the barrier", "a* y-", "", "ya", "-y<-a -a<+a +a<#"},
        {"and what depends on that", "a* y- z-", "", "ya zy", "-z<-y -y<-a -a<+a"},
        {"a pruned one that is not in the way waits", "a* x-", "", "", "-a<+a +a<# #<-x"},
        {"created first needs nothing gone", "a+ y-", "", "ya", "+a<-a +a<# #<-y -y<-a"},
        {"a deposed object goes after what replaced it", "a y-", "", "", "+a<-y"},
    };

    expect_rows(rows, ARRAY_SIZE(rows));
}

static void what_is_last_goes_last(void)
{
    static const struct row rows[] = {
        {"one by one", "a-2 b- c-1", "", "", "-b<-c -c<-a"},
        {"whatever depends on it, and it on others", "a-1 b- c-", "", "ca ab", "-b<-a -c<-a"},
        {"after replacements, too", "a-1 b* c+", "", "", "-b<-a -c<-a +b<-a"},
        {"it is applied as any other", "a1 b", "ba", "", "+a<+b"},
    };

    expect_rows(rows, ARRAY_SIZE(rows));
}

static void says_what_is_created_first(void)
{
    static const struct {
        struct row row;
        const char *first;
    } rows[] = {
        {{"what it depends on", "a* b+", "ba", "ba", ""}, "ab"},
        {{"near and far", "a* b* c+ d*", "ba cb dc", "", ""}, "abc"},
        {{"not what depends on it", "a+ b*", "ba", "", ""}, "a"},
        {{"not what is no replacement", "a b+", "ba", "", ""}, "b"},
        {{"not through what is none", "a* b c+", "ba cb", "", ""}, "c"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene;
        char first[MOST + 1] = "";
        size_t n = 0;

        EXPECT_INT(build(&scene, &rows[i].row, NULL), 0, rows[i].row.note);
        for (uint32_t k = 0; k < scene.n; k++)
            if (scene.changes[k].create_first)
                first[n++] = scene.names[k][0];
        EXPECT_STR(first, rows[i].first, rows[i].row.note);
        steps_free(scene.steps);
    }
}

static void has_a_step_for_each_half(void)
{
    static const struct row row = {"all kinds", "a b- c* d+", "", "", ""};
    struct scene scene;

    EXPECT_INT(build(&scene, &row, NULL), 0, row.note);
    EXPECT_INT(scene.steps->n_nodes, 7, "three applies, three deletes, the barrier");
    EXPECT_INT(scene.steps->apply[1], STEP_NONE, "what leaves is not applied");
    EXPECT_INT(scene.steps->delete[0], STEP_NONE, "what stays is not deleted");
    for (uint32_t i = 0; i < scene.n; i++) {
        uint32_t apply = scene.steps->apply[i], removal = scene.steps->delete[i];

        if (apply != STEP_NONE)
            EXPECT(scene.steps->nodes[apply].kind == STEP_APPLY &&
                       scene.steps->nodes[apply].change == i,
                   "the way back");
        if (removal != STEP_NONE)
            EXPECT(scene.steps->nodes[removal].kind == STEP_DELETE &&
                       scene.steps->nodes[removal].change == i,
                   "the way back");
    }
    EXPECT_INT(scene.steps->nodes[scene.steps->barrier].kind, STEP_BARRIER, "barrier");
    steps_free(scene.steps);
}

static void has_no_barrier_where_nothing_is_parted_by_one(void)
{
    static const struct row rows[] = {{"nothing leaves", "a b*", "", "", ""},
                                      {"all leaves", "a- b-", "", "", ""},
                                      {"nothing at all", "", "", "", ""}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene;

        EXPECT_INT(build(&scene, &rows[i], NULL), 0, rows[i].note);
        EXPECT_INT(scene.steps->barrier, STEP_NONE, rows[i].note);
        steps_free(scene.steps);
    }
}

static void names_a_cycle(void)
{
    static const struct {
        struct row row;
        const char *message; /* a part of it */
    } rows[] = {
        {{"of what is planned", "a b", "ba ab", "", ""}, "a -> b -> a"},
        {{"of what is recorded", "a- b-", "", "ba ab", ""}, "the deletion of a"},
        /* a's old object can only go after b's, which stays until b is made anew, on a. */
        {{"of both", "a! b+ c", "bc ca", "ba", ""}, "the deletion of"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene;
        struct error error = {0};

        EXPECT_INT(build(&scene, &rows[i].row, &error), ERR_INVALID, rows[i].row.note);
        EXPECT_STR(error.reason, "CyclicDependency", rows[i].row.note);
        EXPECT(strstr(error.message, rows[i].message), error.message);
        steps_free(scene.steps);
    }
}

/* Ranks say what comes first where no edge does; deletions have the opposite order. */
static void ranks_turn_round_for_deletions(void)
{
    static const struct row row = {"ranks", "a b c- d-", "", "", ""};
    struct scene scene;
    const struct steps *steps;
    const uint16_t *ranks;

    EXPECT_INT(build(&scene, &row, NULL), 0, row.note);
    steps_free(scene.steps);
    scene.changes[0].rank = scene.changes[3].rank = 2;
    scene.changes[1].rank = scene.changes[2].rank = 1;
    EXPECT_INT(steps_new(&scene.input, &scene.steps, NULL), 0, row.note);
    steps = scene.steps;
    ranks = steps->graph->rank;
    EXPECT(ranks[steps->apply[1]] < ranks[steps->apply[0]], "b before a");
    EXPECT(ranks[steps->delete[3]] < ranks[steps->delete[2]], "d before c");
    steps_free(scene.steps);
}

/* However long a chain: no recursion is as deep. */
static void takes_many(void)
{
    enum { N = 5000 };
    struct step_change *changes = NEW_ARRAY(struct step_change, N);
    struct graph_edge *edges = NEW_ARRAY(struct graph_edge, N);
    struct steps_input input = {.changes = changes,
                                .n_changes = N,
                                .planned = edges,
                                .n_planned = N - 1,
                                .recorded = edges,
                                .n_recorded = N - 1,
                                .name = name_of};
    struct steps *steps = NULL;

    for (uint32_t i = 0; i < N; i++)
        changes[i] = (struct step_change){.applies = true, .deletes = true};
    for (uint32_t i = 0; i + 1 < N; i++)
        edges[i] = (struct graph_edge){i + 1, i};
    changes[N - 1].create_first = true;
    EXPECT_INT(steps_new(&input, &steps, NULL), 0, "a long chain");
    EXPECT(changes[0].create_first, "to its end");
    steps_free(steps);
    free(changes);
    free(edges);
}

/* A chain of replacements, its edges in the order in which each of them settles one link alone. */
static void a_long_chain_takes_no_longer(void)
{
    enum { LONG = 200000 };
    struct step_change *changes = NEW_ARRAY(struct step_change, LONG);
    struct graph_edge *edges = NEW_ARRAY(struct graph_edge, LONG);
    struct steps_input input = {.changes = changes,
                                .n_changes = LONG,
                                .planned = edges,
                                .n_planned = LONG - 1,
                                .recorded = edges,
                                .n_recorded = LONG - 1};
    struct steps *steps = NULL;
    clock_t begun = clock();

    for (uint32_t create_first = 0; create_first < 2; create_first++) {
        for (uint32_t i = 0; i < LONG; i++)
            changes[i] = (struct step_change){.applies = true, .deletes = true};
        for (uint32_t i = 0; i + 1 < LONG; i++)
            edges[create_first ? i : LONG - 2 - i] = (struct graph_edge){i + 1, i};
        changes[LONG - 1].create_first = create_first;
        EXPECT_INT(steps_new(&input, &steps, NULL), 0, "steps");
        EXPECT_INT(changes[0].create_first, create_first, "from one end to the other");
        steps_free(steps);
    }
    EXPECT((clock() - begun) / CLOCKS_PER_SEC < 20, "not with the square of its length");
    free(edges);
    free(changes);
}

SUITE(plan_steps, TEST(applies_after_dependencies_and_deletes_before_them),
      TEST(replaces_in_either_order), TEST(a_replacement_takes_what_is_in_its_way),
      TEST(what_is_last_goes_last), TEST(says_what_is_created_first),
      TEST(has_a_step_for_each_half), TEST(has_no_barrier_where_nothing_is_parted_by_one),
      TEST(names_a_cycle), TEST(ranks_turn_round_for_deletions), TEST(takes_many),
      TEST(a_long_chain_takes_no_longer))
