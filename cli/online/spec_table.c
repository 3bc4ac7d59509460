#include "cli/online/spec_table.h"

#include "engine/base/str.h"
#include "runtimes/kubernetes/client/group.h"
#include "runtimes/kubernetes/client/list.h"

/* Specs of a page whose metadata is large: an object has at most 1.5 MB. */
#define SMALL_PAGE 20

enum column {
    COLUMN_READY,
    COLUMN_REASON,
    COLUMN_OBJECTS,
    COLUMN_SUMMARY,
    COLUMN_REVISION,
    COLUMN_DRIFT,
    COLUMN_SUSPENDED,
    COLUMN_RECONCILING,
    COLUMN_OBSERVED,
    N_COLUMNS
};

/* As crds/ names them. */
static const char *const column_names[N_COLUMNS] = {
    [COLUMN_READY] = "Ready",         [COLUMN_REASON] = "Reason",
    [COLUMN_OBJECTS] = "Objects",     [COLUMN_SUMMARY] = "Status",
    [COLUMN_REVISION] = "Revision",   [COLUMN_DRIFT] = "Drift",
    [COLUMN_SUSPENDED] = "Suspended", [COLUMN_RECONCILING] = "Reconciling",
    [COLUMN_OBSERVED] = "Observed",
};

/* Where the cells of a row have each column. false: one is missing. */
static bool find_columns(const struct value *table, size_t ret_at[N_COLUMNS])
{
    const struct value *columns = value_get(table, "columnDefinitions");

    for (size_t i = 0; i < N_COLUMNS; i++) {
        size_t at = 0;

        while (at < value_count(columns) &&
               !str_equal(value_get_string(value_at(columns, at), "name"), column_names[i]))
            at++;
        if (at == value_count(columns))
            return false;
        ret_at[i] = at;
    }
    return true;
}

/* NULL: it is nested too deep. */
static const struct value *spec_of(const struct value *row, const size_t at[N_COLUMNS])
{
    const struct value *cells[N_COLUMNS];

    for (size_t i = 0; i < N_COLUMNS; i++)
        cells[i] = value_at(value_get(row, "cells"), at[i]);
    return value_pack(
        "{s:v, s:{s:v}, s:{s:[{s:s, s:v, s:v}, {s:s, s:v}], s:v, s:v, s:v, s:v, s:{s:v}}}",
        "metadata", value_path(row, "object", "metadata", NULL), "spec", "suspend",
        cells[COLUMN_SUSPENDED], "status", "conditions", "type", "Ready", "status",
        cells[COLUMN_READY], "reason", cells[COLUMN_REASON], "type", "Reconciling", "status",
        cells[COLUMN_RECONCILING], "objects", cells[COLUMN_OBJECTS], "summary",
        cells[COLUMN_SUMMARY], "lastAppliedRevision", cells[COLUMN_REVISION], "observedGeneration",
        cells[COLUMN_OBSERVED], "driftCorrections", "count", cells[COLUMN_DRIFT]);
}

/* false: it is no Table with our columns. */
static bool add_specs(const struct value *table, struct objects *specs)
{
    const struct value *rows = value_get(table, "rows");
    size_t at[N_COLUMNS];

    if (!str_equal(value_get_string(table, "kind"), "Table") || !find_columns(table, at))
        return false;
    for (size_t i = 0; i < value_count(rows); i++) {
        _cleanup_value_ const struct value *spec = spec_of(value_at(rows, i), at);

        if (!spec)
            return false;
        objects_add(specs, spec);
    }
    return true;
}

/* *ret_table: the server has them as a Table with our columns. page: Specs of a request. */
static int list_pages(struct session *session, const char *namespace_name, const char *labels,
                      unsigned page, struct objects *specs, bool *ret_table, struct error *error)
{
    _cleanup_free_ char *token = NULL;

    do {
        _cleanup_value_ const struct value *table = NULL;
        struct kube_request request = {
            .method = "GET",
            .ref = {&kube_specs, namespace_name, NULL, NULL},
            .selector = {.labels = labels},
            .accept = KUBE_TABLE,
            .limit = page,
            .continue_token = token,
        };
        int r = session_do(session, &request, &table, error);

        if (r < 0)
            return r;
        *ret_table = add_specs(table, specs);
        free(token);
        token = str_new(object_text(table, NULL, "metadata", "continue", NULL));
    } while (*ret_table && token && *token);
    return 0;
}

int spec_list_table(struct session *session, const char *namespace_name, const char *labels,
                    struct objects *ret, struct error *error)
{
    struct error problem = {0};
    bool is_table = false;
    int r = list_pages(session, namespace_name, labels, KUBE_LIST_PAGE, ret, &is_table, &problem);

    if (r == ERR_TOO_LARGE) {
        objects_done(ret);
        err_clear(&problem);
        r = list_pages(session, namespace_name, labels, SMALL_PAGE, ret, &is_table, &problem);
    }
    if (r >= 0 && is_table)
        return 0;
    objects_done(ret);
    /* A list of whole Specs would fail in the same way. */
    if (r == ERR_UNAVAILABLE || r == ERR_TIMEOUT || r == ERR_CANCELLED ||
        r == ERR_UNAUTHENTICATED || r == ERR_FORBIDDEN)
        return err_copy(error, &problem);
    return spec_list(session, namespace_name, labels, ret, error); /* or why they cannot be had */
}
