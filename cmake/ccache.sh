#!/bin/sh
# Compiles by ccache: ccache.sh CCACHE COMPILER ARGUMENTS...
# A compiler that makes a precompiled header anew would read the old one, and so hide from ccache
# which headers it depends on: so the old one goes first.
case " $* " in
  *" c++-header "*)
    before=
    for argument; do
      [ "$before" = -o ] && rm -f "$argument"
      before=$argument
    done
    ;;
esac
exec "$@"
