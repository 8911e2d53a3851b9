/**
 * Half-precision numbers (IEEE 754 binary16), for browsers with and without Float16Array.
 * @module
 */

/**
 * One half-precision number from its 16 bits.
 * @param {number} bits
 * @returns {number}
 */
function halfToNumber(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >>> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/** @type {{table: Float32Array | null}} */
const cache = { table: null };

/**
 * Little-endian half-precision numbers as floats, through a table of all 65,536 of them.
 * @param {ArrayBuffer} buffer
 * @returns {Float32Array}
 */
export function decodeHalf(buffer) {
  cache.table ??= Float32Array.from({ length: 65536 }, (_, bits) => halfToNumber(bits));
  const bits = littleEndian(buffer);
  const out = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; i++) out[i] = cache.table[bits[i]];
  return out;
}

/**
 * @param {ArrayBuffer} buffer
 * @returns {Uint16Array}
 */
function littleEndian(buffer) {
  if (new Uint8Array(new Uint16Array([1]).buffer)[0] === 1) return new Uint16Array(buffer);
  const view = new DataView(buffer);
  return Uint16Array.from({ length: buffer.byteLength / 2 }, (_, i) => view.getUint16(2 * i, true));
}
