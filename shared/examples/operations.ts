/** Example of the operation on operations. */
export const OPERATION_EXAMPLES = {
  getOperation: {
    response: {
      id: 'opr_01jd3mc1d2e3f4g5h6j7k8m9n0',
      kind: 'box.stop',
      status: 'running',
      progress: null,
      resource: '/v1/projects/demo/boxes/web',
      error: null,
      created_at: '2026-11-20T08:59:50.000Z',
      ended_at: null,
    },
  },
}
