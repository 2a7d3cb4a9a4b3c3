import { SPECIFIED_BOX, SPECIFIED_CONFIG, SPECIFIED_HEALTH, SPECIFIED_MOUNT } from './resources.ts'
import type { Route } from './shape.ts'

// The section "Endpoints" of the specification, route by route.

export const GET_HEALTH: Route = {
  method: 'GET',
  path: '/healthz',
  parameters: [],
  body: null,
  response: SPECIFIED_HEALTH,
  outcome: null,
}

export const GET_VERSION: Route = {
  method: 'GET',
  path: '/version',
  parameters: [],
  body: null,
  response: null,
  outcome: null,
}

export const CREATE_BOX: Route = {
  method: 'POST',
  path: '/v1/projects/{project}/boxes',
  parameters: ['project'],
  body: {
    name: { kind: 'string', required: true },
    base: { kind: 'string', orNull: true, required: false },
    config: { kind: { fields: SPECIFIED_CONFIG }, required: false },
    data_mounts: { kind: { items: { fields: SPECIFIED_MOUNT } }, orNull: true, required: false },
    environment: { kind: 'map', required: false },
    fork: { kind: 'string', orNull: true, required: false },
    tags: { kind: 'map', required: false },
  },
  response: SPECIFIED_BOX,
  outcome: 'box created',
}

/** The specification does not show which body fields are required, so a client can send any of them. */
export const UPDATE_BOX: Route = {
  method: 'PUT',
  path: '/v1/projects/{project}/boxes/{name}',
  parameters: ['project', 'name'],
  body: {
    config: { kind: { fields: SPECIFIED_CONFIG } },
    environment: { kind: 'map' },
    port: { kind: 'int32' },
    tags: { kind: 'map' },
    termination_grace_period_seconds: { kind: 'int32' },
  },
  response: SPECIFIED_BOX,
  outcome: 'box updated',
}

export const ATTACH_DATA: Route = {
  method: 'POST',
  path: '/v1/projects/{project}/data/{name}/attach',
  parameters: ['project', 'name'],
  body: {
    box: { kind: 'string', required: true },
    path: { kind: 'string', required: true },
    read_only: { kind: 'boolean', required: false },
  },
  response: SPECIFIED_BOX,
  outcome: 'data attached',
}

export const DETACH_DATA: Route = {
  method: 'POST',
  path: '/v1/projects/{project}/data/{name}/detach',
  parameters: ['project', 'name'],
  body: { box: { kind: 'string', required: true } },
  response: SPECIFIED_BOX,
  outcome: 'data detached',
}

export const ROUTES: readonly Route[] = [GET_HEALTH, GET_VERSION, CREATE_BOX, UPDATE_BOX, ATTACH_DATA, DETACH_DATA]
