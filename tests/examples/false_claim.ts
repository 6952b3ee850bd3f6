import { claim, conclude, step } from "../../examples/shop/demo/claims.ts";

step("Numbers", "numbers.ts");
claim("one is one", true, "not shown");
claim("one is two", false, { one: 1 });
conclude();
