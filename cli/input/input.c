#include "cli/input/input.h"

#include <stdlib.h>
#include <string.h>

#include "cli/input/json_text.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"

#define BOM "\xef\xbb\xbf"

void input_done(struct input *input)
{
    for (size_t i = 0; i < input->count; i++)
        value_unref(input->documents[i].value);
    free(input->documents);
    for (size_t i = 0; i < input->n_texts; i++)
        free(input->texts[i]);
    free(input->texts);
    free(input->problems);
    arena_done(&input->arena);
    *input = (struct input)INPUT_INIT;
}

/* Takes the value. */
static void add_document(struct input *input, const struct input_document *document)
{
    input->documents =
        mem_grow(input->documents, input->count, &input->capacity, sizeof(*input->documents));
    input->documents[input->count++] = *document;
}

/* ---- Errors ---- */

/* Reads "line 3, column 2: message", as the readers have it. False: it is another message. */
static bool read_mark(const char *message, struct yaml_mark *ret_mark, const char **ret_message)
{
    struct yaml_mark mark;
    char *end;

    if (!str_has_prefix(message, "line "))
        return false;
    mark.line = strtoul(message + strlen("line "), &end, 10);
    if (!str_has_prefix(end, ", column "))
        return false;
    mark.column = strtoul(end + strlen(", column "), &end, 10);
    if (!str_has_prefix(end, ": "))
        return false;
    *ret_mark = mark;
    *ret_message = end + strlen(": ");
    return true;
}

/* A file that cannot be read ends the reading, or is a problem among others. */
static int report(struct input *input, const char *file, const struct error *problem,
                  struct error *error)
{
    const char *message = problem->message;
    struct yaml_mark mark = {0};
    bool has_mark = read_mark(message, &mark, &message);

    if (input->keeps_problems) {
        input->problems = mem_grow(input->problems, input->n_problems, &input->problems_capacity,
                                   sizeof(*input->problems));
        input->problems[input->n_problems++] = (struct input_problem){
            arena_str(&input->arena, file), arena_str(&input->arena, message), mark};
        return 0;
    }
    if (!has_mark) {
        err_copy(error, problem);
        err_wrap(error, "%s", file);
        return problem->code;
    }
    _cleanup_free_ char *line = str_new_n(message, strcspn(message, "\n"));
    err_set(error, problem->code, problem->reason, "%s:%zu:%zu: %s", file, mark.line, mark.column,
            line);
    err_add_hints(error, problem->message);
    return problem->code;
}

/* ---- Documents of a text ---- */

/* The JSON values of a text, one after the other. False: it is no JSON, and perhaps YAML. */
static bool add_json(struct input *input, const char *file, const char *text, size_t length)
{
    size_t before = input->count;
    size_t at = json_text_blanks(text, length);
    struct yaml_mark mark = json_text_mark(text, at);

    while (at < length) {
        size_t n = json_text_end(text + at, length - at), blanks;
        const struct value *value = NULL;
        struct yaml_mark more;

        if (!n || json_read(text + at, n, &value, NULL) < 0)
            break;
        add_document(input, &(struct input_document){.value = value,
                                                     .file = file,
                                                     .text = text + at,
                                                     .length = n,
                                                     .start = mark,
                                                     .is_json = true});
        blanks = json_text_blanks(text + at + n, length - at - n);
        more = json_text_mark(text + at, n + blanks);
        mark = (struct yaml_mark){mark.line + more.line - 1,
                                  more.line > 1 ? more.column : mark.column + more.column - 1};
        at += n + blanks;
    }
    if (at == length)
        return true;
    while (input->count > before)
        value_unref(input->documents[--input->count].value);
    return false;
}

/* Bytes of the end of a line as YAML has them: CR LF, CR, LF, NEL, LS, PS; 0: none is here. */
static size_t line_end(const char *text)
{
    if (text[0] == '\r')
        return text[1] == '\n' ? 2 : 1;
    if (text[0] == '\n')
        return 1;
    if (str_has_prefix(text, "\xc2\x85"))
        return 2;
    return str_has_prefix(text, "\xe2\x80\xa8") || str_has_prefix(text, "\xe2\x80\xa9") ? 3 : 0;
}

/* From the beginning of a line to that of a later one; at most to the end of the text. */
static const char *line_at(const char *text, size_t *line, size_t wanted)
{
    while (*line < wanted && *text) {
        size_t n = line_end(text);

        *line += n > 0;
        text += n ? n : 1;
    }
    return text;
}

static int add_yaml(struct input *input, const char *file, const char *text, size_t length,
                    struct error *error)
{
    _cleanup_free_ const struct value **values = NULL;
    _cleanup_free_ size_t *lines = NULL;
    size_t count = 0, line = 1;
    const char *end = text + length;
    struct error problem = {0};

    if (yaml_read_lines(text, length, &values, &lines, &count, &problem) < 0) {
        if (strstr(text, "{{"))
            err_hint(&problem, "is it a template of Helm? helm template CHART | kubectl kusion … "
                               "-f -");
        return report(input, file, &problem, error);
    }
    for (size_t i = 0; i < count; i++) {
        text = line_at(text, &line, lines[i]);
        add_document(input, &(struct input_document){.value = values[i],
                                                     .file = file,
                                                     .text = text,
                                                     .length = (size_t)(end - text),
                                                     .start = {line, 1}});
    }
    return 0;
}

/* A NUL, which is in no such text, would end the search for lines. */
static bool is_text(const char *text, size_t length, struct error *ret_problem)
{
    const char *nul = memchr(text, '\0', length);
    struct yaml_mark mark;

    if (!nul)
        return true;
    mark = json_text_mark(text, (size_t)(nul - text));
    err_set(ret_problem, ERR_INVALID, "Invalid", "line %zu, column %zu: a NUL: this is no text",
            mark.line, mark.column);
    return false;
}

int input_add_text(struct input *input, const char *file, const char *text, size_t length,
                   struct error *error)
{
    const char *name = arena_str(&input->arena, file);
    struct error problem = {0};
    size_t blanks;
    char *copy;

    if (!is_text(text, length, &problem))
        return report(input, file, &problem, error);
    if (length >= strlen(BOM) && memcmp(text, BOM, strlen(BOM)) == 0)
        text += strlen(BOM), length -= strlen(BOM);
    copy = str_new_n(text, length);
    input->texts = mem_grow(input->texts, input->n_texts, &input->texts_capacity, sizeof(char *));
    input->texts[input->n_texts++] = copy;
    blanks = json_text_blanks(copy, length);
    if (copy[blanks] == '{' && add_json(input, name, copy, length))
        return 0;
    return add_yaml(input, name, copy, length, error);
}

void input_find(const struct input_document *document, struct place_wanted *wanted, size_t n)
{
    if (document->is_json)
        json_text_find(document->text, document->length, wanted, n);
    else
        yaml_find(document->text, document->length, wanted, n);
    for (size_t i = 0; i < n; i++) {
        if (wanted[i].mark.line == 1)
            wanted[i].mark.column += document->start.column - 1;
        wanted[i].mark.line += document->start.line - 1;
    }
}
