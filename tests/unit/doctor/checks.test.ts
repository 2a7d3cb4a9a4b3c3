import { describe, expect, test } from '@jest/globals'
import { checkAll } from '../../../agent/doctor/checks/all.ts'
import { DOCTOR_CODES } from '../../../agent/doctor/findings.ts'
import { soundFacts } from '../../helpers/doctor/facts.ts'
import { changeFirstPort, FAULTS, holdersFor, withFile } from '../../helpers/doctor/faults.ts'
import type { BreakHost } from '../../helpers/doctor/program-faults.ts'

test('a sound host has no finding but what is ok', () => {
  expect(checkAll(soundFacts()).filter(({ level }) => level !== 'ok')).toEqual([])
})

describe('what is wrong is found, with evidence and remedy', () => {
  test.each(FAULTS)('%s, a %s', (code, level, change, evidence, remedy) => {
    const facts = soundFacts()
    change(facts)
    const found = checkAll(facts).filter((finding) => finding.level !== 'ok')
    expect(found).toEqual([
      expect.objectContaining({
        ...{ code, level, evidence: expect.stringContaining(evidence), remedy: expect.stringContaining(remedy) },
      }),
    ])
  })

  test('every code is among them', () => {
    expect([...new Set(FAULTS.map(([code]) => code))].sort()).toEqual([...DOCTOR_CODES].sort())
  })
})

/** Items that the doctor cannot inspect. It reports them, but not as problems. */
const HIDDEN: readonly [string, BreakHost][] = [
  ['settings', (f) => Object.assign(f.settings, { hiddenFile: '/etc/boxyard/boxyard.conf' })],
  ['cgroups', (f) => Object.assign(f.kernel, { mountInfo: { hidden: 'EACCES' } })],
  ['namespaces', (f) => Object.assign(f.kernel, { namespaceLimits: { hidden: 'EACCES' } })],
  ['terminals', (f) => Object.assign(f.kernel, { terminals: { hidden: 'EACCES' } })],
  ['network', (f) => Object.assign(f.network, { nft: { hidden: 'spawn nft ENOENT' } })],
  [
    'network',
    (f) => Object.assign(f.network, { nft: { value: { isUsable: false, output: 'Operation not permitted' } } }),
  ],
  ['network', (f) => Object.assign(f.network, { problems: { hidden: 'only root reads them' } })],
  ['dns', (f) => Object.assign(f.network, { nameservers: { hidden: 'why' } })],
  ['disk', (f) => Object.assign(f, { disk: { hidden: 'EACCES' } })],
  ['ports', (f) => changeFirstPort(f, { holders: { hidden: 'only root sees its process' } })],
  ['ports', (f) => changeFirstPort(Object.assign(f, { isRoot: false }), { refusal: 'EACCES' })],
  ['clock', (f) => Object.assign(f.clock, { isSynchronized: { hidden: 'why' } })],
  ['units', (f) => Object.assign(f.service, { units: { hidden: 'why' } })],
  ['versions', (f) => Object.assign(f.service, { schema: { hidden: 'unable to open database file' } })],
]

test.each(HIDDEN)('what cannot be looked at is told in %s', (check, change) => {
  const facts = soundFacts()
  change(facts)
  const found = checkAll(facts).filter(({ level }) => level !== 'ok' && level !== 'note')
  expect(found).toEqual([expect.objectContaining({ check, level: 'unknown', code: null })])
})

test('only changes that lose nothing can be made by --fix', () => {
  const fixes = FAULTS.flatMap(([code, , change]) => {
    const facts = soundFacts()
    change(facts)
    return checkAll(facts).flatMap(({ fix }) => (fix === null ? [] : [`${code}: ${fix.kind}`]))
  })
  expect([...new Set(fixes)].sort()).toEqual([
    'btrfs_missing: modprobe',
    'loop_missing: modprobe',
    'mode_closed: chmod',
    'mode_open: chmod',
    'nft_unusable: modprobe',
  ])
})

test('ports that this service holds are in order, and forwarding is off before it starts', () => {
  const facts = soundFacts()
  changeFirstPort(facts, { holders: holdersFor(true, null) })
  Object.assign(facts.network, { problems: { value: [{ code: 'forwarding_off', evidence: 'E', remedy: 'R' }] } })
  expect(checkAll(facts).filter(({ level }) => level !== 'ok')).toEqual([])
  Object.assign(facts.service, {
    holder: { value: { pid: 1, unit: null } },
    health: { value: { status: 'ok', problems: [] } },
  })
  expect(checkAll(facts).filter(({ level }) => level !== 'ok')).toEqual([
    expect.objectContaining({ code: 'network', evidence: 'forwarding_off: E.' }),
  ])
})

test('a directory above the data directory may belong to all if nobody can rename what is in it', () => {
  const facts = soundFacts()
  withFile(facts, '/var', { mode: 0o1777, uid: 0 })
  expect(checkAll(facts).filter(({ level }) => level !== 'ok')).toEqual([])
})
