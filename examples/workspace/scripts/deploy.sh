#!/bin/sh
# Deploys a release to the nodes, one after the other, or restarts one node.
#
#   deploy.sh release VERSION
#   deploy.sh restart NODE
set -eu

NODES="app-1 app-2 app-3"
PORT=8472
WAIT_SECONDS=20

healthy() {
  curl -fsS "http://$1:$PORT/healthz" >/dev/null
}

restart() {
  ssh "deploy@$1" sudo systemctl restart shop
  sleep "$WAIT_SECONDS"
  healthy "$1" || {
    echo "$1 is not healthy after $WAIT_SECONDS s; stopping here" >&2
    exit 1
  }
}

case "${1:-}" in
  release)
    version=${2:?give a version, for example 2026.03.2}
    for node in $NODES; do
      scp "build/shop-$version.tar.gz" "deploy@$node:/srv/shop/releases/"
      ssh "deploy@$node" ln -sfn "/srv/shop/releases/$version" /srv/shop/current
      restart "$node"
    done
    ;;
  restart)
    restart "${2:?give a node: $NODES}"
    ;;
  *)
    echo "usage: deploy.sh release VERSION | restart NODE" >&2
    exit 2
    ;;
esac
