import { describe, expect, it } from '@jest/globals'
import {
  readinessFields,
  specOfForm,
  variableLines,
  variablesOf,
} from '../../../web/src/pages/box/services/service-form.ts'

type Spec = Exclude<Parameters<typeof specOfForm>[1], null>

const formOf = (fields: Record<string, string>): FormData => {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  return form
}

const spec: Spec = {
  command: ['server'],
  env: {},
  cwd: null,
  user: null,
  port: 80,
  needs: ['db'],
  restart: 'always',
  readiness: { http: '/healthz', interval_seconds: 5 },
  stop_signal: 'SIGINT',
  grace_seconds: 3,
}

describe('the form of a service', () => {
  it('tells a definition, and leaves out what is empty', () => {
    const form = formOf({
      command: "perl /srv/app 'a b'",
      port: '',
      env: 'A=1\n\nB=x=y',
      readiness: 'tcp',
      restart: 'never',
    })
    expect(specOfForm(form, null)).toEqual({
      command: ['perl', '/srv/app', 'a b'],
      env: { A: '1', B: 'x=y' },
      port: null,
      restart: 'never',
      readiness: { tcp: true },
    })
  })

  it('keeps of a definition what it does not show', () => {
    const form = formOf({ command: 'server', port: '8080', readiness: 'http', probe: '/up', cwd: '/srv', user: 'app' })
    expect(specOfForm(form, spec)).toEqual({
      command: ['server'],
      env: {},
      port: 8080,
      cwd: '/srv',
      user: 'app',
      needs: ['db'],
      stop_signal: 'SIGINT',
      grace_seconds: 3,
      readiness: { http: '/up', interval_seconds: 5 },
    })
  })

  it('begins with the probe of the definition', () => {
    expect(readinessFields(spec)).toEqual({ kind: 'http', value: '/healthz' })
    expect(readinessFields({ ...spec, readiness: { command: ['test', '-e', '/a b'] } })).toEqual({
      kind: 'command',
      value: "test -e '/a b'",
    })
    expect(readinessFields({ ...spec, readiness: { tcp: true } }).kind).toBe('tcp')
    expect(readinessFields(null).kind).toBe('none')
  })

  it('refuses a line that sets no variable', () => {
    expect(() => variablesOf('A')).toThrow('"A" is not NAME=VALUE.')
    expect(variablesOf(variableLines({ A: ' 1', B: '' }))).toEqual({ A: ' 1', B: '' })
  })
})
