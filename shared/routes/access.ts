import * as z from 'zod'
import { define } from '../operation.ts'
import {
  createTokenBodySchema,
  meSchema,
  mintedTokenSchema,
  projectTicketBodySchema,
  quotaSchema,
  ticketBodySchema,
  ticketSchema,
  tokenListSchema,
  tokenParams,
  updateQuotaBodySchema,
} from '../schemas/access.ts'
import { boxParams } from '../schemas/boxes.ts'
import { nameSchema, pageQuery } from '../schemas/common.ts'

const BOX = '/v1/projects/{project}/boxes/{name}'

/** Tokens, tickets for operations that a function cannot carry, and quotas of projects. */
export const accessOperations = {
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
  createTicket: define({
    id: 'createTicket',
    method: 'POST',
    path: `${BOX}/tickets`,
    summary: 'Create a ticket: a URL valid once, within 60 s, for requests that a function cannot carry',
    permission: 'any',
    params: boxParams,
    body: ticketBodySchema,
    response: ticketSchema,
    status: 201,
    errors: ['box_not_found', 'permission_denied'],
  }),
  createProjectTicket: define({
    id: 'createProjectTicket',
    method: 'POST',
    path: '/v1/projects/{project}/tickets',
    summary: 'Create a ticket for an upload or an event stream of a project',
    permission: 'any',
    params: z.strictObject({ project: nameSchema }),
    body: projectTicketBodySchema,
    response: ticketSchema,
    status: 201,
    errors: ['permission_denied'],
  }),
  getQuota: define({
    id: 'getQuota',
    method: 'GET',
    path: '/v1/projects/{project}/quota',
    summary: 'Get the quota of a project and its use',
    permission: 'read',
    params: z.strictObject({ project: nameSchema }),
    response: quotaSchema,
  }),
  updateQuota: define({
    id: 'updateQuota',
    method: 'PUT',
    path: '/v1/projects/{project}/quota',
    summary: 'Set the quota of a project; existing resources stay',
    permission: 'admin',
    ofAllProjects: true,
    params: z.strictObject({ project: nameSchema }),
    body: updateQuotaBodySchema,
    response: quotaSchema,
  }),
} as const
