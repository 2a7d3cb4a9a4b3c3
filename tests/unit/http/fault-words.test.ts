import { expect, test } from '@jest/globals'
import type { Operation } from '../../../shared/operation.ts'
import { operations } from '../../../shared/routes.ts'
import { validateRequest } from '../../../shared/validate.ts'

const params = { project: 'demo', name: 'web' }
const { createBox, createToken, updateQuota, createExec, publishService, publishBox } = operations

test.each<[Operation, object, string, string]>([
  [createBox, {}, '/name', 'is required'],
  [createBox, { name: 'localhost' }, '/name', 'must not be a name that Linux reserves for the machine itself'],
  [createBox, { name: 'web', config: { shm_mb: 0 } }, '/config/shm_mb', 'must be at least 1'],
  [createBox, { name: 'web', environment: { 'a b': 'x' } }, '/environment/a b', 'names match [A-Za-z_]'],
  [createBox, { name: 'web', config: { cpus: 'two' } }, '/config/cpus', 'must be a number'],
  [createBox, { name: 'web', config: { cpus: 2000 } }, '/config/cpus', 'must be at most 1024'],
  [createBox, { name: 'web', config: { ram_mb: 64.5 } }, '/config/ram_mb', 'must be a whole number'],
  [createBox, { name: 'web', config: [] }, '/config', 'must be an object'],
  [createBox, { name: 'web', data_mounts: 'x' }, '/data_mounts', 'must be a list'],
  [createBox, { name: 'web', environment: { '1': 'x' } }, '/environment/1', 'names match [A-Za-z_]'],
  [createExec, { command: [] }, '/command', 'must have at least 1 item'],
  [publishBox, { auth: 'all' }, '/auth', 'must be token or public'],
  [publishService, { domains: [] }, '/domains', 'must have at least 1 item'],
  [updateQuota, { allowed: { boxes: -1 } }, '/allowed/boxes', 'must be at least 0'],
  [createToken, { name: 'ci', permissions: ['read'] }, '/projects', 'is required'],
  [createToken, { name: 'ci', permissions: ['read'], projects: 'demo' }, '/projects', 'must be * or a list'],
  [createToken, { name: 'ci', permissions: ['run'], projects: '*' }, '/permissions/0', 'must be read, write, exec,'],
])('%# a fault is told in plain words', (operation, body, pointer, words) => {
  const path = operation.path.includes('{service}') ? { ...params, service: 'site' } : params
  const given = operation.path.includes('{name}')
    ? path
    : operation.path.includes('{project}')
      ? { project: 'demo' }
      : {}
  const check = (): unknown => validateRequest(operation, { params: given, query: new URLSearchParams(), body })
  expect(check).toThrow(`${pointer}: ${words}`)
})
