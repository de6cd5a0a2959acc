"""Runs a program in a pseudo-terminal: terminal.py COLUMNS ROWS PROGRAM ARGUMENTS…

Standard input is the keyboard, standard output what the program writes. A line "COLUMNS ROWS" on descriptor 3 resizes the
terminal. Ends with the program's exit code, or 128 and the signal's number. The end of standard input hangs up.
"""

import fcntl
import os
import pty
import select
import struct
import sys
import termios


def resize(descriptor, columns, rows):
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", int(rows), int(columns), 0, 0))


def read(descriptor):
    try:
        return os.read(descriptor, 65536)
    except OSError:
        return b""


columns, rows, *program = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    resize(0, columns, rows)
    os.execvp(program[0], program)

running = True
while running:
    for descriptor in select.select([terminal, 0, 3], [], [])[0]:
        data = read(descriptor)
        if not data:
            running = False
        elif descriptor == terminal:
            os.write(1, data)
        elif descriptor == 0:
            os.write(terminal, data)
        else:
            for line in data.decode().splitlines():
                resize(terminal, *line.split())
os.close(terminal)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(status if status >= 0 else 128 - status)
