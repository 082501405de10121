/* http/mhd.h: libmicrohttpd, loaded when a job first listens. Private to http/. As curl.h: it brings GnuTLS with it.                       */
#pragma once
#include "base/err.h"
#include <sys/socket.h>
#include <microhttpd.h>

typedef struct mhd_table {
#define MHD_FUNCTIONS(F) \
    F(start_daemon) F(stop_daemon) F(get_daemon_info) F(get_connection_info) F(create_response_from_buffer) F(add_response_header) F(queue_response) F(destroy_response) \
    F(lookup_connection_value) F(create_response_from_callback) F(suspend_connection) F(resume_connection)
#define F(name) __typeof__(MHD_##name) *name;
    MHD_FUNCTIONS(F)
#undef F
} mhd_table;
extern mhd_table mhd;
wr_status mhd_load(wr_err *err);
