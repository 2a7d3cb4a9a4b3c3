import type { Field, Fields } from './shape.ts'

// The section "Resources and their fields" of the specification, table by table.

const text: Field = { kind: 'string' }
const number: Field = { kind: 'number' }
const integer: Field = { kind: 'integer' }

export const SPECIFIED_CONFIG: Fields = {
  cpus: number,
  ram_mb: number,
  region: text,
  storage_gb: number,
}

export const SPECIFIED_MOUNT: Fields = {
  name: text,
  path: text,
  read_only: { kind: 'boolean' },
}

export const SPECIFIED_BOX: Fields = {
  id: { kind: 'string', required: true },
  name: { kind: 'string', required: true },
  project: { kind: 'string', required: true },
  status: { kind: 'string', required: true },
  created_at: { kind: 'string', required: true },
  updated_at: { kind: 'string', required: true },
  base: { kind: 'string', orNull: true, required: false },
  config: { kind: { fields: SPECIFIED_CONFIG }, required: false },
  data_mounts: { kind: { items: { fields: SPECIFIED_MOUNT } }, orNull: true, required: false },
  environment: { kind: 'map', required: false },
  port: { kind: 'int32', orNull: true, required: false },
  published_domains: { kind: { items: 'string' }, orNull: true, required: false },
  tags: { kind: 'map', required: false },
  termination_grace_period_seconds: { kind: 'int32', orNull: true, required: false },
  url: { kind: 'string', orNull: true, required: false },
  url_settings: { kind: { fields: { auth: text } }, required: false },
}

const bytes = { available_bytes: integer, total_bytes: integer, used_bytes: integer, used_percent: number } as const
const storage: Fields = { path: text, ...bytes }

const NODE: Fields = {
  name: text,
  cpu_allocatable: text,
  cpu_capacity: text,
  memory_allocatable_bytes: integer,
  memory_capacity_bytes: integer,
  pods_allocatable: integer,
  pods_capacity: integer,
  pods_running: integer,
  ready: { kind: 'boolean' },
}

export const SPECIFIED_HEALTH: Fields = {
  status: text,
  api: { kind: { fields: { api_version: text } } },
  boxes: {
    kind: { fields: { pending: integer, running: integer, stopped: integer, total: integer, unknown: integer } },
  },
  errors: { kind: { items: 'string' } },
  host: {
    kind: {
      fields: {
        cpu: { kind: { fields: { cores: integer, load_avg_1: number, load_avg_5: number, load_avg_15: number } } },
        memory: { kind: { fields: bytes } },
        storage: { kind: { fields: storage } },
        storage_mounts: { kind: { items: { fields: storage } } },
      },
    },
  },
  kubernetes: {
    kind: {
      fields: {
        nodes: { kind: { items: { fields: NODE } } },
        total_pods_capacity: integer,
        total_pods_running: integer,
      },
    },
  },
  namespace: text,
}
