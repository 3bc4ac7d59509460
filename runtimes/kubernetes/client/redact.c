#include "runtimes/kubernetes/client/redact.h"

#include <stdbool.h>
#include <string.h>

#define REDACTED "(redacted)"

/* What stands before a value. The last is structured-merge-diff's, with Go's sign of a pointer. */
static const struct marker {
    const char *text, *shown;
} markers[] = {
    {"Invalid value: ", "Invalid value: "},
    {"Unsupported value: ", "Unsupported value: "},
    {"Duplicate value: ", "Duplicate value: "},
    {", got &", ", got "},
};

static const struct marker *marker_at(const char *text)
{
    for (size_t i = 0; i < sizeof(markers) / sizeof(markers[0]); i++)
        if (strncmp(text, markers[i].text, strlen(markers[i].text)) == 0)
            return &markers[i];
    return NULL;
}

/* Past a quoted string, as Go and JSON quote; to the end of the text if it is cut off. */
static const char *skip_string(const char *text)
{
    for (text++; *text && *text != '"'; text++)
        if (*text == '\\' && text[1])
            text++;
    return *text ? text + 1 : text;
}

/*
 * Past a value: up to the ": " of the reason that follows it, to the end of an
 * item in a list of errors ("[a: …, b: …]", or one on each line), or to what
 * stands before another value (whose ": " is no reason's), outside of strings
 * and brackets. What does not close hides all that follows.
 */
static const char *skip_value(const char *text)
{
    size_t depth = 0;
    bool closed = false; /* a string or bracket of the value ended just here */

    while (*text) {
        if (depth == 0 && (strncmp(text, ": ", 2) == 0 || *text == ']' || marker_at(text) ||
                           (closed && (strncmp(text, ", ", 2) == 0 || *text == '\n'))))
            return text;
        closed = strchr("\")}]", *text);
        if (*text == '"') {
            text = skip_string(text);
            continue;
        }
        if (strchr("({[", *text))
            depth++;
        else if (strchr(")}]", *text) && depth)
            depth--;
        text++;
    }
    return text;
}

/* The end of a line, and the indent of the next. Lines of paths (".data.a: …") are a list. */
static const char *add_line_end(struct buf *to, const char *text)
{
    bool is_first = to->length && to->data[to->length - 1] == ':';

    text += 1 + strspn(text + 1, " ");
    buf_add_str(to, *text == '.' && !is_first ? "; " : " ");
    return text;
}

void redact_message(struct buf *to, const char *message)
{
    while (*message) {
        const struct marker *marker = marker_at(message);

        if (marker) {
            buf_printf(to, "%s%s", marker->shown, REDACTED);
            message = skip_value(message + strlen(marker->text));
            continue;
        }
        if (*message == '\n') {
            message = add_line_end(to, message);
            continue;
        }
        buf_add_char(to, (unsigned char)*message < ' ' ? ' ' : *message);
        message++;
    }
}
