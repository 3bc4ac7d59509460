/*
 * A stream of exactly one document; for json_read.c alone.
 */
#ifndef ENGINE_VALUE_JSON_STREAM_H
#define ENGINE_VALUE_JSON_STREAM_H

#include "engine/value/json.h"

struct json_stream *json_single_stream_new(json_on_value *on_value, void *arg);

#endif
