/*
 * Findings for programs: JSON, workflow commands of GitHub Actions, SARIF 2.1.0 (OASIS).
 */
#ifndef CLI_OFFLINE_REPORTS_H
#define CLI_OFFLINE_REPORTS_H

#include "cli/frame/output.h"
#include "cli/input/finding.h"

/* {"findings": [{"severity", "reason", "resource", "file", "line", "column", "message"}], "errors",
 * "warnings", "resources"} */
void report_json(struct output *out, struct findings *findings, size_t n_resources);

/* ::error file=FILE,line=LINE,col=COLUMN,title=TITLE::MESSAGE
 * (docs.github.com: workflow commands) */
void report_github(struct output *out, struct findings *findings);

void report_sarif(struct output *out, struct findings *findings);

#endif
