import { expect, test } from '@jest/globals'
import { untilSucceeds } from '../helpers/eventually.ts'
import { createEffects } from '../helpers/vm/acknowledged.ts'
import { untilServing } from '../helpers/vm/boxyard.ts'
import { useInstalled } from '../helpers/vm/use-installed.ts'

const { machine, client } = useInstalled()
const boxes = '/v1/projects/demo/boxes'
const CUTS = Number(process.env['TEST_VM_CUTS'] ?? 1)

test(`nothing that was acknowledged is lost in ${CUTS} power cuts under load`, async () => {
  // The machine was saved while it ran, and has been resumed.
  await untilServing(machine())
  // A freshly booted machine under other load may take longer than a front waits. A repeat returns the first response.
  const once = { headers: { 'idempotency-key': 'web' } }
  await untilSucceeds(async () => {
    expect((await client.post(boxes, { name: 'web', config: { ram_mb: 128 } }, once)).status).toBe(201)
  })
  const effects = createEffects(client, { project: 'demo', box: 'web' })
  for (let cut = 1; cut <= CUTS; cut += 1) {
    const before = effects.count()
    const load = effects.run()
    while (effects.count() < before + EFFECTS_PER_ROUND) await Promise.race([load, pause()])
    await machine().cutPower()
    await load
    await machine().start()
    await untilServing(machine())
    // The box starts automatically. Until then it refuses commands.
    await machine().until(`curl -sS --fail -H "Authorization: Bearer $(cat /var/lib/boxyard/admin.token)" \
      --json '{"command":["true"]}' http://127.0.0.1:8080${boxes}/web/exec`)
    await effects.compare()
    process.stderr.write(`power cut ${cut}: ${effects.count()} effects acknowledged so far, 0 lost\n`)
  }
  expect((await client.get('/healthz')).body).toMatchObject({ status: 'ok', problems: [] })
})

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 100))
}

const EFFECTS_PER_ROUND = 60
