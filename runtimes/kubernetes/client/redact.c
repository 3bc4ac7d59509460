#include "runtimes/kubernetes/client/redact.h"

#include <stdbool.h>
#include <string.h>

#define REDACTED "(redacted)"

/* What stands before a value. The last is structured-merge-diff's. */
static const char *const markers[] = {
    "Invalid value: ",
    "Unsupported value: ",
    "Duplicate value: ",
    ", got &",
};

static size_t marker_at(const char *text)
{
    for (size_t i = 0; i < sizeof(markers) / sizeof(markers[0]); i++) {
        size_t length = strlen(markers[i]);

        if (strncmp(text, markers[i], length) == 0)
            return length;
    }
    return 0;
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
 * item in a list of errors ("[a: …, b: …]"), or to what stands before another
 * value (whose ": " is no reason's), outside of strings and brackets. What does
 * not close hides all that follows.
 */
static const char *skip_value(const char *text)
{
    size_t depth = 0;
    bool closed = false; /* a string or bracket of the value ended just here */

    while (*text) {
        if (depth == 0 && (strncmp(text, ": ", 2) == 0 || *text == ']' || marker_at(text) ||
                           (closed && strncmp(text, ", ", 2) == 0)))
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

void redact_message(struct buf *to, const char *message)
{
    while (*message) {
        size_t marker = marker_at(message);

        if (marker) {
            buf_add(to, message, marker - (message[marker - 1] == '&')); /* Go's pointer */
            buf_add_str(to, REDACTED);
            message = skip_value(message + marker);
            continue;
        }
        buf_add_char(to, (unsigned char)*message < ' ' ? ' ' : *message);
        message++;
    }
}
