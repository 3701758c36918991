/* The page that the fault library and the tests share: a file that every process maps. */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdint.h>

#define FAULTS_POINTS 512
#define FAULTS_NAME 56

#define FAULTS_NONE 0u
#define FAULTS_KILL_BEFORE 1u /* the process is killed instead of making the call */
#define FAULTS_KILL_AFTER 2u  /* it is killed after the call */
#define FAULTS_FAIL 3u        /* the call is not made and fails with `error` */
#define FAULTS_SHORT 4u       /* a write writes half of its bytes */

typedef struct faults_page {
  uint32_t action;
  int32_t error;
  uint32_t forever; /* 1: from `nth` on; 0: once */
  uint32_t count;   /* of points */
  uint64_t nth;     /* which call at the point, from 1; of all points that match */
  uint64_t seen;    /* calls at points that match so far */
  uint64_t fired;   /* how often the fault was made */
  char match[FAULTS_NAME]; /* the point's name, or the beginning of several */
  struct {
    char name[FAULTS_NAME]; /* "coordinator fdatasync wal" */
    uint64_t seen;
  } points[FAULTS_POINTS];
} faults_page;

/* The journal of file operations: a sequence of records, each with a head, one or two paths, and data. */
#define FAULTS_OPEN 1u     /* ino, path; flag 1: made, 2: a folder */
#define FAULTS_WRITE 2u    /* ino, offset, data */
#define FAULTS_TRUNCATE 3u /* ino, offset: the new length */
#define FAULTS_SYNC 4u     /* ino: a file's data, or a folder's names */
#define FAULTS_RENAME 5u   /* path, other */
#define FAULTS_LINK 6u     /* path, other */
#define FAULTS_UNLINK 7u   /* path */
#define FAULTS_MKDIR 8u    /* path; ino of the new folder */
#define FAULTS_TOLD 9u     /* data: what was written to standard output */

typedef struct faults_record {
  uint32_t size; /* of the whole record */
  uint16_t op, flag;
  uint64_t ino;
  uint64_t offset;
  uint32_t path, other; /* lengths */
  uint64_t data;
} faults_record;

#endif
