/** A shell line that serves `quick` on port 8080. It also serves `slow` below /cgi-bin/slow, once /tmp/end exists in the box. */
export const SLOW_SERVER = `mkdir -p /srv/cgi-bin
echo quick > /srv/index.html
cat > /srv/cgi-bin/slow <<'END'
#!/bin/sh
until [ -e /tmp/end ]; do sleep 0.1; done
printf 'Content-Type: text/plain\\r\\n\\r\\n'
echo slow
END
chmod +x /srv/cgi-bin/slow
exec httpd -f -p 8080 -h /srv`
