# SPDX-License-Identifier: BSD-2-Clause
"""file_server.py FOLDER PORT_FILE LOG: serves the files of FOLDER on loopback.

The port goes to PORT_FILE when it listens; each request is a line of LOG, its path
and the status of the answer."""
import functools
import http.server
import os
import sys

folder, port_file, log_file = sys.argv[1:]


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_request(self, code="-", size="-"):
        with open(log_file, "a") as f:
            print(self.path, int(code), file=f)

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
with open(port_file + ".new", "w") as f:
    print(server.server_address[1], file=f)
os.rename(port_file + ".new", port_file)
server.serve_forever()
