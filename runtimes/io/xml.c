#include "runtimes/io/xml.h"

#include <expat.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/limits.h"

#define SEPARATOR ' ' /* between an element's namespace and its name */

struct reading {
    XML_Parser parser;
    const struct xml_handler *handler;
    void *arg;
    struct error *error;
    int result; /* what ended it */
    unsigned depth;
    struct buf text;
};

static void end_reading(struct reading *reading, int result)
{
    reading->result = result;
    XML_StopParser(reading->parser, XML_FALSE);
}

static void refuse(struct reading *reading, const char *why)
{
    end_reading(reading, err_set(reading->error, ERR_INVALID, "InvalidXML", "line %lu: %s",
                                 (unsigned long)XML_GetCurrentLineNumber(reading->parser), why));
}

static const char *local_name(const char *name)
{
    const char *separator = strrchr(name, SEPARATOR);

    return separator ? separator + 1 : name;
}

static void on_begin(void *arg, const char *name, const char **attributes)
{
    struct reading *reading = arg;
    int r = 0;

    (void)attributes;
    if (reading->result)
        return;
    buf_reset(&reading->text);
    if (++reading->depth > LIMIT_DEPTH) {
        refuse(reading, "it is nested too deeply");
        return;
    }
    if (reading->handler->begin)
        r = reading->handler->begin(reading->arg, local_name(name), reading->error);
    if (r)
        end_reading(reading, r);
}

static void on_end(void *arg, const char *name)
{
    struct reading *reading = arg;
    int r;

    if (reading->result)
        return;
    reading->depth--;
    r = reading->handler->end(reading->arg, local_name(name), reading->text.data, reading->error);
    buf_reset(&reading->text);
    if (r)
        end_reading(reading, r);
}

static void on_text(void *arg, const char *text, int length)
{
    struct reading *reading = arg;

    if (reading->result)
        return;
    buf_add(&reading->text, text, (size_t)length);
    if (buf_overflowed(&reading->text))
        refuse(reading, "an element has too much text");
}

static void on_type(void *arg, const char *name, const char *place, const char *identifier,
                    int has_subset)
{
    (void)name, (void)place, (void)identifier, (void)has_subset;
    refuse(arg, "it has a document type");
}

int xml_read(const char *text, size_t length, const struct xml_handler *handler, void *arg,
             struct error *error)
{
    struct reading reading = {.handler = handler, .arg = arg, .error = error};

    if (length > LIMIT_DOCUMENT_BYTES)
        return err_set(error, ERR_INVALID, "InvalidXML", "it has more than %u bytes",
                       LIMIT_DOCUMENT_BYTES);
    reading.parser = XML_ParserCreateNS(NULL, SEPARATOR);
    if (!reading.parser)
        abort();
    buf_init(&reading.text, LIMIT_STRING_BYTES);
    XML_SetUserData(reading.parser, &reading);
    XML_SetElementHandler(reading.parser, on_begin, on_end);
    XML_SetCharacterDataHandler(reading.parser, on_text);
    XML_SetStartDoctypeDeclHandler(reading.parser, on_type);
    if (XML_Parse(reading.parser, text, (int)length, XML_TRUE) != XML_STATUS_OK && !reading.result)
        refuse(&reading, XML_ErrorString(XML_GetErrorCode(reading.parser)));
    XML_ParserFree(reading.parser);
    buf_done(&reading.text);
    return reading.result;
}
