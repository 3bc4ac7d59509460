#include "engine/base/similar.h"

#include <stdbool.h>
#include <string.h>

#define MOST 3

void similar_begin(struct similar *similar, const char *text)
{
    size_t length = strlen(text), allowed = length / 4 < MOST ? length / 4 : MOST;

    *similar = (struct similar){.text = text, .distance = allowed + 1};
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters of another case, however many, are one mistake. */
static char fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool differs_in_case_alone(const char *a, const char *b)
{
    while (*a && fold(*a) == fold(*b))
        a++, b++;
    return *a == *b;
}

/* Optimal string alignment, row by row; `limit` ends it. */
static size_t distance_of(const char *a, size_t n_a, const char *b, size_t n_b, size_t limit)
{
    size_t rows[3][SIMILAR_BYTES + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];

    for (size_t j = 0; j <= n_b; j++)
        above[j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        size_t best = row[0] = i, *oldest = before;

        for (size_t j = 1; j <= n_b; j++) {
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
            best = least(best, row[j]);
        }
        if (best >= limit)
            return limit;
        before = above;
        above = row;
        row = oldest;
    }
    return above[n_b];
}

void similar_offer(struct similar *similar, const char *candidate)
{
    size_t n_text = strlen(similar->text), n_candidate = strlen(candidate), distance;

    if (n_text > SIMILAR_BYTES || n_candidate > SIMILAR_BYTES || n_text + MOST < n_candidate ||
        n_candidate + MOST < n_text)
        return;
    if (differs_in_case_alone(similar->text, candidate))
        distance = 1;
    else
        distance = distance_of(similar->text, n_text, candidate, n_candidate, similar->distance);
    if (distance >= similar->distance || strcmp(similar->text, candidate) == 0)
        return;
    similar->distance = distance;
    similar->found = candidate;
}
