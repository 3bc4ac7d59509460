# What docs/pictures/session.cast shows (hack/pictures record). The lines before the blank one are not shown.
# shellcheck shell=bash
kubectl apply --server-side -f examples/team-a.yaml
cp examples/guestbook.yaml .

kubectl kusion apply -f guestbook.yaml --watch
sed -i 's/php:8-apache/php:8.4-apache/' guestbook.yaml
kubectl kusion preview -f guestbook.yaml
kubectl kusion apply -f guestbook.yaml --watch
kubectl kusion rollback guestbook -n team-a --preview
