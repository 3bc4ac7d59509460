/*
 * The commands that ask the API server. Each is in a file of its name; struct command has what they
 * return.
 */
#pragma once

#include "cli/frame/command.h"

int run_status(struct cli *cli, struct error *error);
int run_preview(struct cli *cli, struct error *error);
int run_apply(struct cli *cli, struct error *error);
int run_approve(struct cli *cli, struct error *error);
int run_reject(struct cli *cli, struct error *error);
int run_wait(struct cli *cli, struct error *error);
int run_rollback(struct cli *cli, struct error *error);
int run_destroy(struct cli *cli, struct error *error);
int run_history(struct cli *cli, struct error *error);
int run_show(struct cli *cli, struct error *error);
int run_diff(struct cli *cli, struct error *error);
int run_reconcile(struct cli *cli, struct error *error);
int run_suspend(struct cli *cli, struct error *error);
int run_resume(struct cli *cli, struct error *error);
int run_rbac_check(struct cli *cli, struct error *error);
int run_rbac_grant(struct cli *cli, struct error *error);
int run_state_list(struct cli *cli, struct error *error);
int run_state_show(struct cli *cli, struct error *error);
int run_doctor(struct cli *cli, struct error *error);
int run_validate(struct cli *cli, struct error *error);
int run_graph(struct cli *cli, struct error *error);
int run_version(struct cli *cli, struct error *error);
int run_complete(struct cli *cli, struct error *error);
