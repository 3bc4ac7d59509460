#include "engine/spec/problem.h"

#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/limits.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"

#define UNSUPPORTED "Unsupported"

/* Bytes of a field path that are kept; room for "; and 12345678 more". */
#define FIELD_SIZE 512
#define TAIL_SIZE  40

void problems_done(struct problems *problems)
{
    free(problems->items);
    arena_done(&problems->arena);
    *problems = (struct problems)PROBLEMS_INIT;
}

static bool is_unsupported(const struct problem *problem)
{
    return strcmp(problem->reason, UNSUPPORTED) == 0;
}

static bool are_unsupported(const struct problems *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        if (!is_unsupported(&problems->items[i]))
            return false;
    return true;
}

/* Returns the slot for a problem; NULL: the problem is only counted. The first problem that is not
 * Unsupported always gets a slot, because it decides the error's code. */
static struct problem *room_for(struct problems *problems, const char *reason)
{
    problems->total++;
    if (problems->count < LIMIT_PROBLEMS) {
        problems->items = mem_grow(problems->items, problems->count, &problems->capacity,
                                   sizeof(*problems->items));
        return &problems->items[problems->count++];
    }
    if (strcmp(reason, UNSUPPORTED) != 0 && are_unsupported(problems))
        return &problems->items[LIMIT_PROBLEMS - 1];
    return NULL;
}

static const char *keep(struct problems *problems, const char *text, size_t size)
{
    size_t length = text ? strlen(text) : 0;
    char *kept;

    if (!text || length < size)
        return arena_str(&problems->arena, text);
    kept = arena_alloc(&problems->arena, size);
    str_copy(kept, size, text);
    return kept;
}

void problems_add(struct problems *problems, const char *reason, const char *resource,
                  const char *field, const char *format, ...)
{
    struct problem *problem = room_for(problems, reason);
    va_list args;

    if (!problem)
        return;
    va_start(args, format);
    _cleanup_free_ char *message = str_vprintf(format, args);
    va_end(args);
    *problem = (struct problem){
        .reason = keep(problems, reason, ERROR_REASON_SIZE),
        .resource = keep(problems, resource, LIMIT_ID_BYTES + 1),
        .field = keep(problems, field, FIELD_SIZE),
        .message = keep(problems, message, ERROR_MESSAGE_SIZE),
    };
}

/* resource "a" (field): message */
static void write_problem(struct buf *to, const struct problem *problem)
{
    if (problem->resource) {
        buf_add_str(to, "resource ");
        json_write_string(to, problem->resource, strlen(problem->resource));
    }
    if (problem->field)
        buf_printf(to, problem->resource ? " (%s)" : "%s", problem->field);
    buf_printf(to, "%s%s", problem->resource || problem->field ? ": " : "", problem->message);
}

int problems_to_error(const struct problems *problems, struct error *error)
{
    _cleanup_buf_ struct buf text = BUF_INIT, next = BUF_INIT;
    size_t shown = 0;

    if (problems->count == 0)
        return 0;
    if (problems->total > 1)
        buf_printf(&text, "%zu problems: ", problems->total);
    for (; shown < problems->count; shown++) {
        buf_reset(&next);
        write_problem(&next, &problems->items[shown]);
        if (shown > 0 && text.length + next.length + TAIL_SIZE > ERROR_MESSAGE_SIZE)
            break;
        if (shown > 0)
            buf_add_str(&text, "; ");
        buf_add(&text, next.data, next.length);
    }
    if (shown < problems->total)
        buf_printf(&text, "; and %zu more", problems->total - shown);
    return err_set(error, are_unsupported(problems) ? ERR_UNSUPPORTED : ERR_INVALID,
                   problems->items[0].reason, "%s", text.data);
}
