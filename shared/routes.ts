import * as z from 'zod'
import type { ErrorCode } from './errors.ts'
import { boxListQuery, boxListSchema, boxParams, boxSchema, createBoxBodySchema } from './schemas/boxes.ts'
import { nameSchema, noParams, noQuery, pageQuery, projectOrAllSchema, waitQuery } from './schemas/common.ts'
import { execBodySchema, execGetQuery, execParams, execSchema } from './schemas/exec.ts'
import {
  configSchema,
  createTokenBodySchema,
  healthSchema,
  meSchema,
  mintedTokenSchema,
  operationParams,
  operationQuery,
  operationSchema,
  type Permission,
  tokenListSchema,
  tokenParams,
  versionSchema,
} from './schemas/system.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** One row of the table from which routing, validation, permissions, audit and the OpenAPI document are read. */
export interface Operation {
  id: string
  method: Method
  /** A template: `{param}` stands for one whole segment. */
  path: string
  summary: string
  /** Null: no token is needed, though one may be given. `any`: a valid token of whatever permission. */
  permission: Permission | 'any' | null
  params: z.ZodType<Record<string, string>>
  query: z.ZodType<Record<string, unknown>>
  /** Null: a body is refused. */
  body: z.ZodType | null
  /** Null: the answer has no body. */
  response: z.ZodType | null
  /** The status of success. */
  status: number
  /** A second status of success: the effect is not there yet (api.md §1, Waiting). */
  laterStatus: number | null
  maxBodyBytes: number
  /** What it can answer beyond the errors every operation has. */
  errors: readonly ErrorCode[]
}

/** Every operation by its id. */
export const operations = {
  getHealth: define({
    id: 'getHealth',
    method: 'GET',
    path: '/healthz',
    summary: 'Health of the service and its host; short without a token',
    permission: null,
    response: healthSchema,
  }),
  getVersion: define({
    id: 'getVersion',
    method: 'GET',
    path: '/version',
    summary: 'Version and drivers',
    permission: null,
    response: versionSchema,
  }),
  getOpenApi: define({
    id: 'getOpenApi',
    method: 'GET',
    path: '/openapi.json',
    summary: 'This document',
    permission: null,
    response: z.looseObject({ openapi: z.string() }),
  }),
  getConfig: define({
    id: 'getConfig',
    method: 'GET',
    path: '/v1/config',
    summary: 'Drivers, defaults, features and limits',
    permission: null,
    response: configSchema,
  }),
  getMe: define({
    id: 'getMe',
    method: 'GET',
    path: '/v1/me',
    summary: "The token's own name, projects, permissions and expiry",
    permission: 'any',
    response: meSchema,
  }),
  createToken: define({
    id: 'createToken',
    method: 'POST',
    path: '/v1/tokens',
    summary: 'Mint a token that may do no more than this one',
    permission: 'any',
    body: createTokenBodySchema,
    response: mintedTokenSchema,
    status: 201,
  }),
  listTokens: define({
    id: 'listTokens',
    method: 'GET',
    path: '/v1/tokens',
    summary: 'List tokens: all with admin, else those this one minted',
    permission: 'any',
    query: pageQuery,
    response: tokenListSchema,
  }),
  deleteToken: define({
    id: 'deleteToken',
    method: 'DELETE',
    path: '/v1/tokens/{token}',
    summary: 'Revoke a token and those minted with it, at once',
    permission: 'any',
    params: tokenParams,
    response: null,
    status: 204,
    errors: ['token_not_found'],
  }),
  getOperation: define({
    id: 'getOperation',
    method: 'GET',
    path: '/v1/operations/{operation}',
    summary: 'What became of a mutation that outlived its wait',
    permission: 'read',
    params: operationParams,
    query: operationQuery,
    response: operationSchema,
    errors: ['operation_not_found'],
  }),
  createBox: define({
    id: 'createBox',
    method: 'POST',
    path: '/v1/projects/{project}/boxes',
    summary: 'Create a box and start it',
    permission: 'write',
    params: z.strictObject({ project: nameSchema }),
    query: waitQuery,
    body: createBoxBodySchema,
    response: boxSchema,
    status: 201,
    errors: ['name_taken', 'base_not_found', 'environment_reserved', 'quota_exceeded', 'storage_full'],
  }),
  listBoxes: define({
    id: 'listBoxes',
    method: 'GET',
    path: '/v1/projects/{project}/boxes',
    summary: 'List boxes by name',
    permission: 'read',
    params: z.strictObject({ project: projectOrAllSchema }),
    query: boxListQuery,
    response: boxListSchema,
  }),
  getBox: define({
    id: 'getBox',
    method: 'GET',
    path: '/v1/projects/{project}/boxes/{name}',
    summary: 'Get a box',
    permission: 'read',
    params: boxParams,
    response: boxSchema,
    errors: ['box_not_found'],
  }),
  deleteBox: define({
    id: 'deleteBox',
    method: 'DELETE',
    path: '/v1/projects/{project}/boxes/{name}',
    summary: 'Delete a box, whatever its state',
    permission: 'write',
    params: boxParams,
    query: waitQuery,
    response: null,
    status: 204,
    errors: ['box_not_found'],
  }),
  stopBox: define({
    id: 'stopBox',
    method: 'POST',
    path: '/v1/projects/{project}/boxes/{name}/stop',
    summary: 'Stop a box: SIGTERM, the grace period, SIGKILL',
    permission: 'write',
    params: boxParams,
    query: waitQuery,
    response: boxSchema,
    laterStatus: 202,
    errors: ['box_not_found'],
  }),
  resumeBox: define({
    id: 'resumeBox',
    method: 'POST',
    path: '/v1/projects/{project}/boxes/{name}/resume',
    summary: 'Start a stopped box',
    permission: 'write',
    params: boxParams,
    query: waitQuery,
    response: boxSchema,
    laterStatus: 202,
    errors: ['box_not_found', 'storage_full'],
  }),
  createExec: define({
    id: 'createExec',
    method: 'POST',
    path: '/v1/projects/{project}/boxes/{name}/exec',
    summary: 'Run a command to its end, or to the end of the wait',
    permission: 'exec',
    params: boxParams,
    query: waitQuery,
    body: execBodySchema,
    response: execSchema,
    laterStatus: 202,
    maxBodyBytes: 6 * 1024 * 1024,
    errors: ['box_not_found', 'box_not_running', 'environment_reserved'],
  }),
  getExec: define({
    id: 'getExec',
    method: 'GET',
    path: '/v1/projects/{project}/boxes/{name}/exec/{exec}',
    summary: 'What became of a command, with its output',
    permission: 'exec',
    params: execParams,
    query: execGetQuery,
    response: execSchema,
    errors: ['box_not_found', 'exec_not_found'],
  }),
} as const satisfies Record<string, Operation>

export type OperationId = keyof typeof operations

/** Every operation, in the order of the document. */
export const OPERATIONS: readonly Operation[] = Object.values(operations)

interface Defaults {
  params: typeof noParams
  query: typeof noQuery
  body: null
  status: 200
  laterStatus: null
  maxBodyBytes: number
  errors: readonly ErrorCode[]
}

type Given = Partial<Operation> & Pick<Operation, 'id' | 'method' | 'path' | 'summary' | 'permission' | 'response'>

function define<const T extends Given>(given: T): Omit<Defaults, keyof T> & T {
  const defaults: Defaults = {
    params: noParams,
    query: noQuery,
    body: null,
    status: 200,
    laterStatus: null,
    maxBodyBytes: 1024 * 1024,
    errors: [],
  }
  return { ...defaults, ...given }
}
