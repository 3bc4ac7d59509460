/*
 * What a command reads: YAML or JSON, of several documents, from files, folders, standard input
 * ("-") and a kustomization. YAML is read as kubectl reads it (engine/yaml/yaml.h).
 *
 * Each document knows its file, and where in it each of its values stands. A file is read whole, of
 * at most LIMIT_DOCUMENT_BYTES.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/value/value.h"
#include "engine/yaml/yaml.h"

struct input_document {
    const struct value *value; /* never null */
    const char *file;          /* as it was named; "stdin" */
    const char *text;          /* from its first line (JSON: its first byte) to the file's end */
    size_t length;
    struct yaml_mark start; /* of text, in the file */
    bool is_json;
};

struct input {
    struct input_document *documents; /* in the order given; folders by name */
    size_t count, capacity;
    struct arena arena; /* names */
    char **texts;       /* of files */
    size_t n_texts, texts_capacity;
    bool keeps_problems; /* a file that cannot be read is a problem, and the next one is read */
    struct input_problem *problems;
    size_t n_problems, problems_capacity;
};

/* In the input's arena. */
struct input_problem {
    const char *file, *message;
    struct yaml_mark mark; /* line 0: the file as a whole */
};

#define INPUT_INIT \
    {              \
        0          \
    }
void input_done(struct input *input);

/* Whether folders in folders are read, too. */
enum input_depth { INPUT_FLAT, INPUT_RECURSIVE };

/*
 * Adds the documents of a file, of a folder's *.yaml, *.yml and *.json, or of standard input ("-").
 * ERR_INVALID names file, line and column; ERR_NOT_FOUND, ERR_FORBIDDEN; ERR_TOO_LARGE.
 */
int input_add(struct input *input, const char *name, enum input_depth depth, struct error *error);

/* Adds the documents of a text. file: copied. */
int input_add_text(struct input *input, const char *file, const char *text, size_t length,
                   struct error *error);

/* Adds what `kubectl kustomize FOLDER`, or `kustomize build FOLDER` where there is no kubectl,
 * prints. The file's name is the folder's; lines are those that were printed. ERR_UNAVAILABLE:
 * there is neither program; ERR_INVALID: what the program said. */
int input_add_kustomization(struct input *input, const char *folder, struct error *error);

/* Where paths of the document stand, in its file. */
void input_find(const struct input_document *document, struct place_wanted *wanted, size_t n);
