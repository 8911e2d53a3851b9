/**
 * Questions whose answers may come in another order than they were asked: only the last one counts.
 * @module
 */

/**
 * Call what this gives with each question; the function it returns says whether no other was asked since.
 * @returns {() => () => boolean}
 */
export function latest() {
  let turn = 0;
  return () => {
    const mine = ++turn;
    return () => mine === turn;
  };
}

/** What went wrong, in its own words. @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));
