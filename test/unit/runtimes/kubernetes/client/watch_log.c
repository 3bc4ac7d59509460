#include "test/unit/runtimes/kubernetes/client/watch_log.h"

#include <unistd.h>

#include "engine/base/str.h"

void watch_log_init(struct watch_log *log)
{
    *log = (struct watch_log){.text = BUF_INIT};
    pthread_mutex_init(&log->mutex, NULL);
}

void watch_log_done(struct watch_log *log)
{
    value_unref(log->last_deleted);
    buf_done(&log->text);
    pthread_mutex_destroy(&log->mutex);
}

static void add_event(struct watch_log *log, enum kube_watch_event event,
                      const struct value *object, const struct error *error)
{
    const char *name = value_get_string(value_get(object, "metadata"), "name");

    switch (event) {
    case KUBE_WATCH_UPSERT:
        buf_printf(&log->text, "U %s ", name);
        break;
    case KUBE_WATCH_DELETED:
        buf_printf(&log->text, "D %s ", name);
        value_unref(log->last_deleted);
        log->last_deleted = value_ref(object);
        break;
    case KUBE_WATCH_SYNCED:
        buf_add_str(&log->text, "S ");
        break;
    case KUBE_WATCH_WORKS:
        buf_add_str(&log->text, "W ");
        break;
    case KUBE_WATCH_ERROR:
        buf_printf(&log->text, "E %s ", error->reason);
        break;
    case KUBE_WATCH_LISTING:
        buf_add_str(&log->text, "( ");
        break;
    case KUBE_WATCH_LISTED:
        buf_add_str(&log->text, ") ");
        break;
    }
}

void watch_log_event(void *arg, enum kube_watch_event event, const struct value *object,
                     const struct error *error)
{
    struct watch_log *log = arg;

    pthread_mutex_lock(&log->mutex);
    log->has_overlapped |= log->is_inside;
    log->is_inside = true;
    pthread_mutex_unlock(&log->mutex);
    pthread_mutex_lock(&log->mutex);
    add_event(log, event, object, error);
    log->is_inside = false;
    pthread_mutex_unlock(&log->mutex);
}

char *watch_log_text(struct watch_log *log)
{
    char *text;

    pthread_mutex_lock(&log->mutex);
    text = str_new(log->text.data);
    pthread_mutex_unlock(&log->mutex);
    return text;
}

bool watch_log_wait(struct watch_log *log, const char *text)
{
    for (int i = 0; i < 9000; i++) {
        _cleanup_free_ char *now = watch_log_text(log);

        if (strstr(now, text))
            return true;
        usleep(10000);
    }
    return false;
}
