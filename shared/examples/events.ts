const event = {
  id: 'evt_01jd3m8w2k7v5x9q4n6p0r1s2t',
  ts: '2026-11-20T08:15:30.123Z',
  type: 'box.created',
  project: 'demo',
  resource: '/v1/projects/demo/boxes/web',
  actor: { id: 'tok_01jd3m8w2k7v5x9q4n6p0r1s2t', name: 'ci' },
  request_id: 'req_01jd3m8w2k7v5x9q4n6p0r1s2t',
  data: { id: 'box_01jd3m8w2k7v5x9q4n6p0r1s2t', status: 'pending', base: 'debian', fork_of: null },
}
const running = {
  ...event,
  id: 'evt_01jd3m8w3q0000000000000000',
  ts: '2026-11-20T08:15:30.160Z',
  type: 'box.running',
  actor: null,
  request_id: null,
  data: { id: event.data.id, reason: 'ready', message: null },
}

/** Examples of the operations on events and the audit log. */
export const EVENT_EXAMPLES = {
  listEvents: { response: { events: [event, running], has_more: false, next_cursor: 'ZTE6NDI' } },
  listAudit: {
    response: {
      entries: [
        {
          ts: '2026-11-20T08:15:30.170Z',
          operation: 'createBox',
          method: 'POST',
          target: '/v1/projects/demo/boxes',
          project: 'demo',
          actor: event.actor.id,
          actor_name: event.actor.name,
          client_address: '203.0.113.7',
          request_id: event.request_id,
          duration_ms: 47,
          status: 201,
          code: null,
          command: null,
          command_truncated: false,
        },
        {
          ts: '2026-11-20T08:15:21.904Z',
          operation: 'streamExec',
          method: 'GET',
          target: '/v1/projects/demo/boxes/web/exec/ws',
          project: 'demo',
          actor: event.actor.id,
          actor_name: event.actor.name,
          client_address: '203.0.113.7',
          request_id: 'req_01jd3m8n4d0000000000000000',
          duration_ms: 12,
          status: 101,
          code: null,
          command: ['npm', 'test'],
          command_truncated: false,
        },
      ],
      has_more: false,
      next_continuation_token: null,
    },
  },
}
