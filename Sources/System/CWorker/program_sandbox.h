/* The sandbox of a program that is a stage. Between fork(2) and execve(2), in a process with one thread. */
#ifndef SLUICE_PROGRAM_SANDBOX_H
#define SLUICE_PROGRAM_SANDBOX_H

#include "program.h"

/* What failed; number 0: nothing. */
struct sluice_step {
  uint32_t number; /* SLUICE_STEP_… */
  int32_t error;   /* errno */
};

/* Becomes the user that owns nothing, where this is root. -1: see errno. */
int sluice_become_nobody(void);
/* Makes a user namespace in which this user is itself and no other, and what else is asked for as of unshare(2): a PID namespace
 * is that of the next child. -1: see errno. */
int sluice_enter_namespaces(int kinds);
/* Limits this process for good, and all that it starts.
 * `has_namespace`: it has a user namespace, in which its processes and threads are counted. */
struct sluice_step sluice_program_confine(const sluice_program *program, int has_namespace);
/* Becomes the program. Returns only where that fails: see errno. */
void sluice_program_execute(const sluice_program *program);

#endif
