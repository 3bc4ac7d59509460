#include "runtimes/kubernetes/client/list.h"

#include "runtimes/io/random.h"
#include "runtimes/kubernetes/client/list_page.h"
#include "runtimes/kubernetes/client/pause.h"

#define MAX_RESTARTS      3   /* of the list, when its continue token expired */
#define MAX_PAGE_ATTEMPTS 5   /* when a page broke off */
#define BACKOFF_BASE      100 /* ms */
#define BACKOFF_MAXIMUM   5000

static int add_to_page(void *arg, const char *data, size_t length, struct error *error)
{
    return list_page_add(arg, data, length, error);
}

/* Which page of a list. */
struct slice {
    unsigned limit;    /* 0: all in one */
    const char *token; /* NULL: the first */
};

static int get_page(struct kube_client *client, const struct kube_list *list, struct slice slice,
                    struct list_page *page, struct error *error)
{
    struct kube_request request = {
        .method = "GET",
        .ref = list->ref,
        .selector = list->selector,
        .limit = slice.limit,
        .continue_token = slice.token,
        .accept = list->metadata_only ? KUBE_METADATA_LIST : KUBE_JSON,
        .impersonate = list->impersonate,
        .for_tenant = list->for_tenant,
        .cancel = list->wait.cancel,
        .on_body = add_to_page,
        .on_body_arg = page,
    };
    int r = kube_wait_left(&list->wait, &request.timeout, error);

    if (r >= 0)
        r = kube_do(client, &request, NULL, error);
    return r < 0 ? r : list_page_end(page, error);
}

/* A page that broke off after it began is asked for again here: kube_do() cannot take back
 * the items that were given. */
static int get_whole_page(struct kube_client *client, const struct kube_list *list,
                          struct slice slice, struct list_page *page, struct error *error)
{
    for (unsigned n = 0;; n++) {
        struct error why = {0};
        bool is_begun;
        int r;

        list_page_init(page, list->on_item, list->arg, kube_client_answer_limit(client));
        r = get_page(client, list, slice, page, &why);
        is_begun = page->is_begun;
        if (r == 0)
            return 0;
        list_page_done(page);
        if (r != ERR_UNAVAILABLE || !is_begun || n + 1 == MAX_PAGE_ATTEMPTS)
            return err_copy(error, &why);
        if (!pause_for(backoff_delay(n, BACKOFF_BASE, BACKOFF_MAXIMUM), list->wait.cancel))
            return err_set(error, ERR_CANCELLED, "Cancelled", "%s",
                           cancel_reason(list->wait.cancel));
    }
}

/* One pass from the first page to the last. limit: 0: all in one. */
static int list_all(struct kube_client *client, const struct kube_list *list, unsigned limit,
                    char **ret_resource_version, struct error *error)
{
    _cleanup_free_ char *token = NULL;

    for (;;) {
        _cleanup_(list_page_done) struct list_page page = {0};
        int r = get_whole_page(client, list, (struct slice){limit, token}, &page, error);

        if (r < 0)
            return r;
        if (!page.next) {
            *ret_resource_version = TAKE(page.resource_version);
            return 0;
        }
        free(token);
        token = TAKE(page.next);
    }
}

int kube_list(struct kube_client *client, const struct kube_list *list, char **ret_resource_version,
              struct error *error)
{
    _cleanup_free_ char *version = NULL;
    unsigned page = list->page ? list->page : KUBE_LIST_PAGE;
    struct error why = {0};
    int r = ERR_GONE;

    /* What changes too fast for its pages is asked for in one, at last. */
    for (unsigned n = 0; n < MAX_RESTARTS && r == ERR_GONE; n++)
        r = list_all(client, list, n + 1 < MAX_RESTARTS ? page : 0, &version, &why);
    if (r < 0)
        return err_copy(error, &why);
    if (ret_resource_version)
        *ret_resource_version = TAKE(version);
    return 0;
}
