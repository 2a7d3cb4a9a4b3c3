/** Waits until everything that depends only on promises has happened. */
export async function settlePromises(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) await Promise.resolve()
}

/** More than the length of any promise chain in tested code. */
const ROUNDS = 20
