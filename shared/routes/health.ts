import * as z from 'zod'
import { define } from '../operation.ts'
import {
  configSchema,
  healthSchema,
  problemTypeListSchema,
  problemTypeParams,
  problemTypeSchema,
  scrubSchema,
  storageSchema,
  versionSchema,
} from '../schemas/health.ts'

/** The deployment itself: its version, configuration, health and storage. */
export const healthOperations = {
  getHealth: define({
    id: 'getHealth',
    method: 'GET',
    path: '/healthz',
    summary: 'Health of the service and its host; short without a good token',
    permission: null,
    badToken: 'ignored',
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
  listProblems: define({
    id: 'listProblems',
    method: 'GET',
    path: '/problems',
    summary: 'Every error code: its status, meaning and remedy',
    permission: null,
    response: problemTypeListSchema,
  }),
  getProblem: define({
    id: 'getProblem',
    method: 'GET',
    path: '/problems/{code}',
    summary: 'What an error code means; the `type` of a problem leads here',
    permission: null,
    params: problemTypeParams,
    response: problemTypeSchema,
    errors: ['route_not_found'],
  }),
  getConfig: define({
    id: 'getConfig',
    method: 'GET',
    path: '/v1/config',
    summary: 'Drivers, defaults, features and limits',
    permission: null,
    response: configSchema,
  }),
  getStorage: define({
    id: 'getStorage',
    method: 'GET',
    path: '/v1/storage',
    summary: 'What is used, by whom, and what deleting each would free',
    permission: 'admin',
    response: storageSchema,
  }),
  startScrub: define({
    id: 'startScrub',
    method: 'POST',
    path: '/v1/storage/scrub',
    summary: 'Read all that is stored against its checksums; health tells of what is wrong',
    permission: 'admin',
    response: scrubSchema,
    status: 202,
  }),
} as const
