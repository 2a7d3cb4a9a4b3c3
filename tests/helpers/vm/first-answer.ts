import type { Machine } from './machine.ts'

/** Records the time of the API's first answer at each later boot. A shell in the machine polls the API while the boot continues. */
export async function noteFirstAnswers(machine: Machine): Promise<void> {
  await machine.run(`
    printf '%s' '${SCRIPT}' >/usr/local/sbin/first-answer
    chmod +x /usr/local/sbin/first-answer
    printf '%s' '${UNIT}' >/etc/systemd/system/first-answer.service
    systemctl enable --quiet first-answer`)
}

/** Waits for the first answer of this boot. Returns the seconds from the kernel's start to the answer. */
export async function firstAnswerOf(machine: Machine): Promise<number> {
  return Number(await machine.until('test -s /run/first-answer && cat /run/first-answer'))
}

const REQUEST = String.raw`GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`
// Runs no program except sleep, because each would slow the measured boot.
const SCRIPT = `#!/bin/bash
until exec 3<>/dev/tcp/127.0.0.1/8080 && printf "${REQUEST}" >&3 && read -r _ status _ <&3 && [ "$status" = 200 ]; do
  sleep 0.5
done 2>/dev/null
read -r seconds _ </proc/uptime
echo "$seconds" >/run/first-answer
`
const UNIT = `[Unit]
Description=Notes when the API of Boxyard answers first
DefaultDependencies=no
[Service]
Type=exec
ExecStart=/usr/local/sbin/first-answer
[Install]
WantedBy=multi-user.target
`
