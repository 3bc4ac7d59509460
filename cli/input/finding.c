#include "cli/input/finding.h"

#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"

void findings_done(struct findings *findings)
{
    free(findings->items);
    arena_done(&findings->arena);
    *findings = (struct findings)FINDINGS_INIT;
}

static struct finding *add(struct findings *findings, enum severity severity)
{
    if (findings->totals[severity]++ >= FINDINGS_MAX)
        return NULL;
    findings->items =
        mem_grow(findings->items, findings->count, &findings->capacity, sizeof(*findings->items));
    findings->items[findings->count] =
        (struct finding){.severity = severity, .order = findings->count};
    return &findings->items[findings->count++];
}

struct finding *findings_add(struct findings *findings, enum severity severity, const char *reason,
                             const struct place_in *place, const char *label, const char *format,
                             ...)
{
    struct finding *finding = add(findings, severity);
    va_list args;

    if (!finding)
        return NULL;
    va_start(args, format);
    _cleanup_free_ char *text = str_vprintf(format, args);
    va_end(args);
    finding->reason = arena_str(&findings->arena, reason);
    finding->label = arena_str(&findings->arena, label);
    finding->text = arena_str(&findings->arena, text);
    if (place && place->document) {
        finding->document = place->document;
        finding->file = place->document->file;
        finding->path = arena_str(&findings->arena, place->path ? place->path : "");
    }
    return finding;
}

void findings_add_problems(struct findings *findings, const struct input *input)
{
    for (size_t i = 0; i < input->n_problems; i++) {
        const struct input_problem *problem = &input->problems[i];
        struct finding *finding = findings_add(findings, SEVERITY_ERROR, "Unreadable", NULL, NULL,
                                               "%s", problem->message);

        if (finding) {
            finding->file = problem->file;
            finding->mark = problem->mark;
        }
    }
}

/* ---- Places ---- */

/* One of the two places of a finding. */
struct request {
    const struct input_document *document;
    const char *path;
    struct finding *finding;
    bool is_other;
};

static int by_document(const void *a, const void *b)
{
    const struct request *x = a, *y = b;

    if (x->document != y->document)
        return x->document < y->document ? -1 : 1;
    return 0;
}

static void take(struct findings *findings, const struct request *request, struct yaml_mark mark)
{
    struct finding *finding = request->finding;

    if (!request->is_other)
        finding->mark = mark;
    else
        finding->text = arena_printf(&findings->arena, "%s %s:%zu:%zu", finding->text,
                                     request->document->file, mark.line, mark.column);
}

/* requests: n, all of one document. */
static void look_up(struct findings *findings, const struct request *requests, size_t n)
{
    _cleanup_free_ struct place_wanted *wanted = NEW_ARRAY(struct place_wanted, n);

    for (size_t i = 0; i < n; i++)
        wanted[i].path = requests[i].path;
    input_find(requests[0].document, wanted, n);
    for (size_t i = 0; i < n; i++)
        take(findings, &requests[i], wanted[i].mark);
}

/* Documents are in one array, in the order of the input. */
static int by_place(const void *a, const void *b)
{
    const struct finding *x = a, *y = b;

    if (!x->document != !y->document)
        return x->document ? 1 : -1;
    if (x->document && x->document->file != y->document->file)
        return x->document < y->document ? -1 : 1;
    if (x->document && x->mark.line != y->mark.line)
        return x->mark.line < y->mark.line ? -1 : 1;
    if (x->document && x->mark.column != y->mark.column)
        return x->mark.column < y->mark.column ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

void findings_place(struct findings *findings)
{
    struct request *requests = NEW_ARRAY(struct request, 2 * findings->count + 1);
    size_t n = 0;

    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->items[i];

        if (finding->document)
            requests[n++] = (struct request){finding->document, finding->path, finding, false};
        if (finding->other)
            requests[n++] = (struct request){finding->other, finding->other_path, finding, true};
        finding->other = NULL;
    }
    qsort(requests, n, sizeof(*requests), by_document);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && requests[to].document == requests[from].document;)
            to++;
        look_up(findings, requests + from, to - from);
    }
    free(requests);
    if (findings->count)
        qsort(findings->items, findings->count, sizeof(*findings->items), by_place);
}

void findings_drop(struct findings *findings, enum severity severity)
{
    size_t n = 0;

    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].severity != severity)
            findings->items[n++] = findings->items[i];
    findings->count = n;
    findings->totals[severity] = 0;
}

const char *severity_name(enum severity severity)
{
    static const char *const names[] = {"error", "warning", "note"};

    return names[severity];
}
