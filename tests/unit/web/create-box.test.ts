import { describe, expect, test } from '@jest/globals'
import { createBodyOf, mountsOf } from '../../../web/src/pages/boxes/box-form.ts'
import { suggestedName } from '../../../web/src/pages/boxes/suggested-name.ts'
import { shortcutOf } from '../../../web/src/shell/shortcut-keys.ts'
import { toneOf } from '../../../web/src/ui/words.ts'

/** Returns the values of a form. Unnamed fields are empty. */
const formOf = (values: Record<string, string>) => ({
  text: (name: string): string => values[name] ?? '',
  has: (name: string): boolean => name in values,
})

describe('the request of a new box', () => {
  test('has what was filled in, and leaves the rest to the service', () => {
    expect(createBodyOf(formOf({ name: 'web', base: 'debian', cpus: '2', ram_mb: '' }))).toEqual({
      name: 'web',
      base: 'debian',
      config: { cpus: 2 },
    })
  })

  test('has variables, volumes, limits and tags, with the line ends of a browser', () => {
    const more = { env: 'A=1\r\nB=x=y', mounts: 'db /var/db\r\nshared /s ro', tags: 'env=prod', disk_iops: '500' }
    expect(createBodyOf(formOf({ name: 'web', base: 'debian', ...more }))).toEqual({
      name: 'web',
      base: 'debian',
      config: { disk_iops: 500 },
      environment: { A: '1', B: 'x=y' },
      data_mounts: [
        { name: 'db', path: '/var/db' },
        { name: 'shared', path: '/s', read_only: true },
      ],
      tags: { env: 'prod' },
    })
  })

  test('of a fork names no base, and keeps the size of its origin unless another was typed', () => {
    const values = { name: 'web', base: 'debian', fork: 'old@v1', cpus: '1', ram_mb: '512' }
    expect(createBodyOf(formOf(values), { cpus: 1, ram_mb: 256 })).toEqual({
      name: 'web',
      fork: 'old@v1',
      config: { ram_mb: 512 },
    })
  })

  test('says which line it cannot read', () => {
    expect(() => mountsOf('db var/db')).toThrow('"db var/db" is not VOLUME /PATH.')
    expect(() => createBodyOf(formOf({ name: 'web', env: 'A' }))).toThrow('"A" is not NAME=VALUE.')
  })

  test('has sleep and wake only where they are asked for', () => {
    expect(createBodyOf(formOf({}))).not.toHaveProperty('url_settings')
    expect(createBodyOf(formOf({ wake: 'on' }))).toMatchObject({ url_settings: { wake: true } })
    expect(createBodyOf(formOf({ idle_minutes: '10' }))).toMatchObject({
      url_settings: { wake: false, idle_stop_seconds: 600 },
    })
  })
})

test('a suggested name is a name that is not taken', () => {
  expect(suggestedName([], () => 0)).toBe('able-ant')
  expect(suggestedName(['able-ant', 'able-ant-2'], () => 0)).toBe('able-ant-3')
  expect(suggestedName([], () => 0.999)).toMatch(/^[a-z]+-[a-z]+$/)
})

test('a badge is good, bad or neither by its state, and a command also by its exit code', () => {
  const states = ['running', 'pending', 'failed', 'stopped', 'exited (0)', 'exited (3)', 'killed, SIGKILL']
  expect(states.map(toneOf)).toEqual(['good', 'warn', 'bad', 'neutral', 'neutral', 'bad', 'bad'])
})

test('a key by itself acts, and after g it leads to a page', () => {
  expect(shortcutOf('', '?')).toEqual({ kind: 'help' })
  expect(shortcutOf('', 'b')).toBeNull()
  expect(shortcutOf('g', 'b')).toEqual({ kind: 'go', to: '/boxes' })
  expect(shortcutOf('g', 'c')).toBeNull()
})
