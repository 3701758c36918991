#ifndef SLUICE_HEVC_H
#define SLUICE_HEVC_H

/* Makes libheif decode HEVC with libde265 on the thread that asks: libheif's own binding starts a thread for each picture, and
 * the sandbox ends a process that does. */
bool sluice_hevc_register();

#endif
