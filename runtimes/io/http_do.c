#include <assert.h>
#include <stdlib.h>

#include "engine/base/mem.h"
#include "runtimes/io/http_call.h"

int http_do(struct http_client *client, const struct http_request *request,
            struct http_response *response, struct error *error)
{
    struct http_call call = {.is_stream = false};
    int r;

    assert(!loop_is_current(client->loop));
    http_response_done(response);
    r = call_init(&call, client, request, response, error);
    if (r < 0)
        return r;
    if (call_submit(&call))
        task_wait(&call.task);
    if (call.error.code) {
        buf_done(&response->body);
        err_copy(error, &call.error);
    }
    call_done(&call);
    return call.error.code;
}

struct http_stream {
    struct http_call call;
    struct http_response response;
};

int http_stream_new(struct http_client *client, const struct http_request *request,
                    http_on_end *on_end, void *arg, struct http_stream **ret, struct error *error)
{
    struct http_stream *stream = NEW(struct http_stream);
    int r;

    stream->response = (struct http_response)HTTP_RESPONSE_INIT;
    stream->call.is_stream = true;
    stream->call.on_end = on_end;
    stream->call.on_end_arg = arg;
    r = call_init(&stream->call, client, request, &stream->response, error);
    if (r < 0) {
        free(stream);
        return r;
    }
    loop_ref(client->loop);
    if (call_submit(&stream->call)) {
        *ret = stream;
        return 0;
    }
    r = err_copy(error, &stream->call.error);
    call_done(&stream->call);
    free(stream);
    loop_unref(client->loop);
    return r;
}

void http_stream_free(struct http_stream *stream)
{
    struct http_loop *loop;

    if (!stream)
        return;
    loop = stream->call.task.loop;
    assert(!loop_is_current(loop) || stream->call.task.ended);
    task_notify(&stream->call.task, TASK_STOP);
    task_wait(&stream->call.task);
    call_done(&stream->call);
    http_response_done(&stream->response);
    free(stream);
    loop_unref(loop);
}
