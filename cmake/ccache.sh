#!/bin/sh
# Compiles by ccache: ccache.sh CCACHE COMPILER ARGUMENTS...
# A precompiled header knows the text of the headers in it, comments as well, so ccache must look at
# the files (CCACHE_DEPEND), and not at what the preprocessor makes of them. The compiler would read
# the old one instead of the headers, so that one goes first.
case " $* " in
  *" c++-header "*)
    before=
    for argument; do
      [ "$before" = -o ] && rm -f "$argument"
      before=$argument
    done
    export CCACHE_DEPEND=1 CCACHE_NAMESPACE=headers
    ;;
esac
exec "$@"
